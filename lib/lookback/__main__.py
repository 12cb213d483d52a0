"""`python -m lookback` is the `lookback` command."""

from lookback.cli import main

main()

"""One folder per benchmark: everything that is one paper's. `lookback.benchmark` says what a folder holds."""

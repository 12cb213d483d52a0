"""The printed tables themselves, one CSV per table; README.md names the source of each."""

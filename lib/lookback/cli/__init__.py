"""The command line. Exit 0 = done, 1 = the data broke a contract, 2 = wrong call; errors say what, where and what to do."""

from lookback.cli.app import main

__all__ = ["main"]

"""The report's figures, each in an interactive and a static version made from the same numbers."""

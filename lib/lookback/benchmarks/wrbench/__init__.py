"""wrbench."""

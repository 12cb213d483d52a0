"""memobench."""

"""mbench."""

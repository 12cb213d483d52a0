"""The inspector's page: what the browser gets."""

"""The audit: how each metric reacts to failures of known severity."""

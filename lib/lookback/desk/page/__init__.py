"""The pages of a study: what the browser gets."""

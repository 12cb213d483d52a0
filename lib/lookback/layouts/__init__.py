"""Dataset layouts: one reader per benchmark."""

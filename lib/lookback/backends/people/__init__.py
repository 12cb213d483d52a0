"""Masks of the people whose faces were found."""

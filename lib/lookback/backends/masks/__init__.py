"""Masks of the object through the whole clip."""

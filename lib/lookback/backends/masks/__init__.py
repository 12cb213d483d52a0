"""Masks of the subject through the whole clip, and when it is in view, leaving, out of view and back."""

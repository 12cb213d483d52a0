"""Faces of sampled frames, and the people they belong to."""

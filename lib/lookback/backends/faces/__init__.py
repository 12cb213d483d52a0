"""Faces of sampled frames: where they are, who they are, and which belong together."""

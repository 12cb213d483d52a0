"""Depth maps of frames."""

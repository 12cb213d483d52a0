"""Optical flow between frames."""

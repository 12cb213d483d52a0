"""Backends by role: the papers' models and the embedded ones that work offline."""

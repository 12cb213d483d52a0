"""Maths that several metrics use: pure functions on arrays."""

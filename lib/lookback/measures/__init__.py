"""Functions on arrays that several metrics use."""

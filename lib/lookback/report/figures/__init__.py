"""The papers' figures from a run's tables: each drawn twice from the same numbers, for print and for the page."""

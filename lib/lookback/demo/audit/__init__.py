"""Metrics on trial: what each metric says about failures whose severity is known."""

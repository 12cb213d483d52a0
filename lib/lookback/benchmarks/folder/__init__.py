"""A plain folder of videos."""

"""The questions put to judges, as versioned files."""

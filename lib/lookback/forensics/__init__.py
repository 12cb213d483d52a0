"""Failure forensics: from a number to the frames that made it."""

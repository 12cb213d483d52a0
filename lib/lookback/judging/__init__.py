"""Judges: who answers the questions that need eyes."""

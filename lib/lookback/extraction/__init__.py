"""Extraction: every artifact of a clip from one decode, kept in the store."""

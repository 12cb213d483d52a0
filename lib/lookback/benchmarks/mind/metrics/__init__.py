"""MIND: long context memory, general scene consistency, visual quality, action accuracy."""

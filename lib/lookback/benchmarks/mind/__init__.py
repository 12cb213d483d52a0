"""MIND: memory and action control of interactive world models."""

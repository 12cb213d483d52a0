"""The judges, one file each: an OpenAI-compatible endpoint, a local model, geometry, and replay. `base` says what a judge is."""

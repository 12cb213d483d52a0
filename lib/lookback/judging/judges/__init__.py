"""The judges, one file each: an OpenAI-compatible endpoint, a local model, replay, geometry, the demo world's truth."""

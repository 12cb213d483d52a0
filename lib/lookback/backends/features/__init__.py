"""Image features of sampled frames, and of the masked object or person in them."""

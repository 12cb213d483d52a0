"""Image features of sampled frames, of the masked object and of masked people."""

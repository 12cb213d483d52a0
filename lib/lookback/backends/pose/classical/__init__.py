"""The embedded pose estimator: tracks, rotations, loop closure, and translation where there is parallax."""

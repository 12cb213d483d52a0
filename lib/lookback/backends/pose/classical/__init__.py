"""The embedded pose estimator: tracks, rotations, loop closure, and positions where there is parallax."""

"""MBench: entity, environment and causal consistency, and the trigger-conditioned M-Score."""

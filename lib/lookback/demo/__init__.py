"""The demo world: scenes whose truth is known, simulated models with injected failures, simulated judges and annotators."""

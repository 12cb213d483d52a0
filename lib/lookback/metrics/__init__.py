"""The metrics of the four benchmarks: one file per metric, shared maths in `shared`, every pure twin in `functional`."""

"""`functional` lists every metric as a pure function on arrays. The metrics themselves are in `lookback.benchmarks`."""

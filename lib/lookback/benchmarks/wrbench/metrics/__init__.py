"""WRBench: camera control, visual integrity, probes and re-observation."""

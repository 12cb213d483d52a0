"""Metrics whose evidence is a judge's answers; the judging stage scores them. Their maths is in the benchmarks' own folders."""

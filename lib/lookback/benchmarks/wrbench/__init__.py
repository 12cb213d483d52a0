"""WRBench: world-state memory under camera motion."""

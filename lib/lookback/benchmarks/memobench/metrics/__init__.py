"""MemoBench: phases V/D/R, video quality, reappearance, fidelity and camera controllability."""

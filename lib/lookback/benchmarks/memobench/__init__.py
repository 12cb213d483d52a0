"""MemoBench: memory over the visible, disappear and reappear phases."""

"""How long a test waits for something that ends by itself. A crowded machine may stand still for minutes: slow is not wrong."""

HUNG_S = 900  # whoever needs longer hangs

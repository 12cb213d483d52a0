"""The embedded mask tracker: GrabCut from the prompt, flow propagation, re-detection after an absence."""

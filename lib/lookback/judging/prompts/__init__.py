"""The prompts, as versioned text files; `lookback.judging.prompting` reads them."""

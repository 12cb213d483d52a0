"""The paper's printed tables, and its sentences that they can confirm."""

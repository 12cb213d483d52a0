"""Quality of single frames without a reference, and ImageReward."""

"""Which discoveries matter most, and how much they explain (thesis §8.1.7, §8.2.3)."""

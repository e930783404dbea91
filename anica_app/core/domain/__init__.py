"""The abstract domain: what abstract blocks say of basic blocks (thesis §8.1.2, §8.1.4, §8.1.6)."""

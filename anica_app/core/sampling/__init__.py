"""Random basic blocks that an abstract block represents, and blocks from machine code (thesis §8.1.5)."""

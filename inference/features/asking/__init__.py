"""How long code takes: basic blocks, and what answers about them."""

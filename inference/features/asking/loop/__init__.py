"""Explaining a loop: one page with its time on a CPU, what limits it, and what would change it."""

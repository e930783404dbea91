"""Runs: what is worked on, and what became of it."""

"""Instruction schemes, their names and how to search them, free of Django."""

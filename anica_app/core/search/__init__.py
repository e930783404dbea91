"""Algorithms 8.1 and 8.2 of the thesis, written against a `Domain` so that any instruction set will do."""

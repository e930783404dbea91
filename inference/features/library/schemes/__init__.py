"""Instruction sets and their schemes."""

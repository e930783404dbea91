"""Instruction sets and their schemes: pages, API and shell."""

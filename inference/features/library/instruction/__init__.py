"""Instruction cards: all forms of a mnemonic, compared on several CPUs."""

"""Instruction cards: all forms of a mnemonic on every CPU that something is known of."""

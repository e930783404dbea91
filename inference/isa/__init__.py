"""Instruction sets: schemes and their names, basic blocks, code for measurements. Independent of Django."""

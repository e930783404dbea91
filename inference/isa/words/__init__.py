"""Instruction sets whose instructions are words of four bytes: decoding and encoding by tables.

The tables belong to the document of the instruction set; `inference.isa.words.learning` derives them from an
assembler.
"""

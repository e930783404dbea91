"""Code of any instruction set as values: basic blocks, programs from text, compiled programs, and their
loops.

Decoding is the task of an instruction set's folder (`isa.target`).
"""

"""Code of any instruction set as values: basic blocks, programs of text, compiled programs, their loops.

Nothing here decodes: what an instruction is, an instruction set's folder tells (`isa.target`).
"""

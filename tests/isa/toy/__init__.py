"""An instruction set that nobody has: what a new one has to bring, all of it in one folder.

Instructions have two bytes, an operation and a number. The number of `inc` and `neg` is that of a register;
that of `back` says by how many bytes it jumps back.
"""

"""Algorithms 8.1 and 8.2 of the thesis, over `BlockDomain` and so for any instruction set that it
supports.
"""

"""What is wrong with a file that should be a compiled program.

BinaryFileError(ValueError)
"""

from __future__ import annotations


class BinaryFileError(ValueError):
    """A file that is no program of x86-64, or a damaged one; says what it is and what would be right."""

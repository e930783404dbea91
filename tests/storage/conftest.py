"""Instruction sets that the tests of storage start from."""

from tests.rows.toy import default_x86, empty_set, toy

__all__ = [
    "default_x86",
    "empty_set",
    "toy",
]

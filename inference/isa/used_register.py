"""A register that code uses, with its name and its class."""

from __future__ import annotations

from typing import NamedTuple


class UsedRegister(NamedTuple):
    """As wide as it is used; `bank`: "general", "vector", "mask", "mmx", or "" for any other."""

    name: str
    bank: str
    bits: int

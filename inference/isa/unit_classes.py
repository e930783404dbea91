"""Kinds of instructions as pictures of a core name them: what an execution unit is for.

A scheme that computes with memory has no kind of its own: its µops are those of a load, a store and a
computation, which other schemes show one by one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from inference.isa.domains import ExecutionDomain, domains_in
from inference.isa.tables import table_beside

LOADS, STORES = ("load", "vector load"), ("store", "vector store")
"""On integer and on vector registers."""

_CROSSING = "int ↔ vector"
_MASK = "mask"
_TABLES: Mapping[str, Mapping[str, str]] = table_beside(__file__)
_INTEGER, _VECTOR, _FLOATING = (_TABLES[kind] for kind in ("integer", "vector", "floating"))

UNIT_CLASSES = tuple(
    dict.fromkeys(
        (*_INTEGER.values(), *LOADS, *STORES, _CROSSING, _MASK, *_FLOATING.values(), *_VECTOR.values())
    )
)
"""All of them, in the order in which pictures list them."""

_X86_FLOATING = re.compile(r"(?!v?p)\w*[ps][sdh]")
_MASK_REGISTER = re.compile(r"(?<![A-Z])K(?![A-Z])")


def unit_class(text: str, mnemonic: str, category: str, memory: str) -> str:
    """Of a scheme by what its instruction set says of it; "" for one that is several things at once.

    `category`, `memory`: as `inference.isa.scheme.Scheme` has them.
    """
    domains = domains_in(text.upper())
    vector = ExecutionDomain.VECTOR in domains
    if memory in ("R", "W"):
        kinds = LOADS if memory == "R" else STORES
        return kinds[vector] if category == "move" else ""  # what extends may compute as well
    if memory == "RW" or category not in (*_INTEGER, *_VECTOR):
        return ""
    if _MASK_REGISTER.search(text):
        return _MASK
    if vector and ExecutionDomain.INTEGER in domains:
        return _CROSSING
    return _of_vector(mnemonic, category) if vector else _INTEGER.get(category, "")


def _of_vector(mnemonic: str, category: str) -> str:
    if category in _FLOATING and _is_floating(mnemonic):
        return _FLOATING[category]
    return _VECTOR.get(category, "")


def _is_floating(mnemonic: str) -> bool:
    return mnemonic.startswith("f") or _X86_FLOATING.fullmatch(mnemonic) is not None

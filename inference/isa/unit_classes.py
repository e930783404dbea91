"""Kinds of instructions as pictures of a core name them: what an execution unit is for.

A scheme that computes with memory has no kind of its own: its µops are those of a load, a store and a
computation, which other schemes show one by one.
"""

from __future__ import annotations

import re

from inference.isa.domains import ExecutionDomain, domains_in

LOADS, STORES = ("load", "vector load"), ("store", "vector store")
"""On integer and on vector registers."""

_CROSSING = "int ↔ vector"
_MASK = "mask"
_INTEGER = {
    "arithmetic": "ALU",
    "logical": "ALU",
    "compare": "ALU",
    "move": "move",
    "extend": "move",
    "address": "address",
    "conditional-move": "conditional",
    "conditional-set": "conditional",
    "shift": "shift",
    "rotate": "shift",
    "bit": "bit",
    "multiply": "multiply",
    "divide": "divide",
    "checksum": "CRC",
    "byte-swap": "byte swap",
    "exchange": "exchange",
    "flags": "flags",
    "branch": "branch",
    "jump": "branch",
    "call": "call",
    "return": "call",
    "nop": "nop",
}
_VECTOR = {
    "arithmetic": "vector ALU",
    "compare": "vector ALU",
    "minimum-maximum": "vector ALU",
    "logical": "vector logic",
    "blend": "blend",
    "move": "vector move",
    "shift": "vector shift",
    "rotate": "vector shift",
    "multiply": "vector mul",
    "dot-product": "dot product",
    "horizontal": "horizontal",
    "shuffle": "shuffle",
    "broadcast": "shuffle",
    "narrow": "shuffle",
    "extend": "shuffle",
    "bit": "vector bit",
    "crypto": "crypto",
    "convert": "convert",
    "round": "FP round",
    "fused-multiply-add": "FMA",
    "divide": "FP divide",
    "square-root": "FP divide",
    "reciprocal": "reciprocal",
    "string-compare": "string",
    "move-mask": _CROSSING,
}
_FLOATING = {
    "arithmetic": "FP add",
    "compare": "FP add",
    "minimum-maximum": "FP add",
    "multiply": "FP mul",
}
"""Where numbers with a point have units of their own."""

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

"""Kinds of instructions that stand before others to break their dependencies."""

from __future__ import annotations

from typing import Literal

Kind = Literal["zero", "copy", "extend", "vector-ones", "mask-ones"]

COSTS: dict[Kind, str] = {
    "zero": "xor of a register with itself: an issue slot, and no port on cores since Sandy Bridge and Zen",
    "copy": "mov between registers: an issue slot, and where moves are not eliminated a µop on any ALU",
    "extend": "movzx between registers: an issue slot, and where moves are not eliminated a µop on any ALU",
    "vector-ones": "vpcmpeqd of a register with itself: a µop on the ports of integer vector comparisons",
    "mask-ones": "kxnorw of a register with itself: a µop on the ports of mask logic",
}
"""What each kind costs of itself, for whoever reads a measurement with it."""

"""Schemes and code of AArch64 as LLVM and the tools that use its syntax take them."""

from __future__ import annotations

from collections.abc import Iterable

from inference.isa.aarch64.assembling import CPU, FEATURES, TRIPLE, Assembler
from inference.isa.unrolling import CannotMeasureError
from inference.isa.written_scheme import WrittenScheme

triple, cpu, features = TRIPLE, CPU, FEATURES
models = ""


def instances(texts: Iterable[str]) -> dict[str, bytes]:
    """{scheme text: machine code of one instance}, of those that can be measured."""
    assembler = Assembler()
    bodies = {}
    for text in texts:
        try:
            bodies[text] = assembler.unroll_in_order([text], instructions=1)
        except CannotMeasureError:
            continue
    return {text: body.code[: body.half_bytes] for text, body in bodies.items()}


def register_probes() -> dict[str, bytes]:
    """None: registers have the same names everywhere."""
    return {}


def written(text: str) -> WrittenScheme | None:
    """None: there is one syntax, that of the schemes."""
    return None


def listed(code: bytes) -> list[str]:
    """The words of the code, as an assembler takes them."""
    return [f".inst {int.from_bytes(code[at : at + 4], 'little'):#010x}" for at in range(0, len(code), 4)]

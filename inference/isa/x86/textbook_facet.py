"""The textbook facet of x86-64."""

from __future__ import annotations

from collections.abc import Collection

from inference.isa.scheme import Operand, Scheme
from inference.isa.x86.textbook import documented_cpi
from inference.isa.x86.textbook_latencies import documented_latencies, latency_source

__all__ = ["beyond_ports", "documented_cpi", "documented_latencies", "latency_source"]
_DIVIDERS = {"divide", "square-root"}
_VECTOR_PORT = "FP"  # uops.info calls AMD's vector ports FP0, FP1, …, and documents no others of Zen
_GENERAL = frozenset("rax eax ax al rcx ecx cx cl rdx edx dx dl rbx ebx bx bl rsi esi rdi edi".split())  # noqa: SIM905


def beyond_ports(scheme: Scheme, ports: Collection[str]) -> str:
    """Why documented usages of these ports do not determine the scheme's time, "" where they do.

    `ports` are the names of all ports of the reference.
    """
    if scheme.category in _DIVIDERS:
        return "it waits for a divider, which is busy for several cycles: its ports do not tell how many"
    if not ports or not all(port.startswith(_VECTOR_PORT) for port in ports):
        return ""
    if scheme.memory:
        return "the reference has the vector unit's ports alone, and this scheme uses memory as well"
    if any(map(_is_of_the_integer_unit, scheme.operands)):
        return (
            "the reference has the vector unit's ports alone, and this scheme uses the integer unit as well"
        )
    return ""


def _is_of_the_integer_unit(operand: Operand) -> bool:
    if operand.kind == "flags":
        return True
    return operand.kind == "register" and (operand.name.startswith("GPR") or operand.name in _GENERAL)

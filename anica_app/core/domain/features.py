"""The features of instruction schemes that abstract instructions speak of (thesis §8.1.4, Table 8.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from anica_app.core.domain.abstractions import Abstraction, EditDistances, LogSizes, Singletons, Subsets
from anica_app.core.domain.settings import DomainSettings
from inference.isa.scheme import Operand, Scheme
from inference.isa.x86.forms import Form, features

YES, NO = "yes", "no"
_LOCK = frozenset({"lock"})
_REPEATED = frozenset({"rep", "repe", "repne"})

_BASE = frozenset(
    "BASE X64 CMOV CX8 CMPXCHG16B MULTIBYTENOP PAUSE CPUID MSR TSC SYSCALL SEP CET_IBT".split()  # noqa: SIM905
)
_FAMILIES = {"SSE4.1": "SSE4", "SSE4.2": "SSE4", "FXSR": "SSE"}


def abstraction(name: str, settings: DomainSettings) -> Abstraction[Any, Any]:
    """The kind of constraints on a feature (Table 8.2)."""
    if name == "mnemonic":
        return EditDistances(settings.edit_distance)
    if name == "uops":
        return LogSizes(settings.log_bound)
    if name in ("memory", "operands"):
        return Subsets()
    return Singletons()


def value(name: str, scheme: Scheme, form: Form, uops: Mapping[str, int]) -> Any:
    """The value of a feature: a word, a set of words, or the number of µops, None where it is not known.

    `uops`: {scheme text: number of µops}.
    """
    return uops.get(scheme.text) if name == "uops" else _VALUES[name](scheme, form)


def extension(scheme: Scheme) -> str:
    """The family of CPU features that a scheme belongs to; `isa-set` tells its members apart.

    BASE is what every 64-bit processor has; SSE4 joins both halves, AVX512 everything of this name.
    """
    families = []
    for name in scheme.extension.split("+"):
        if name.startswith("AVX512"):
            return "AVX512"
        families.append("BASE" if name in _BASE else _FAMILIES.get(name, name))
    special = [name for name in dict.fromkeys(families) if name != "BASE"]
    return "+".join(special) or "BASE"


def memory(scheme: Scheme) -> frozenset[str]:
    """Of `R`, `W` and `size:n`, those that hold for what a scheme accesses, the stack included.

    A prefetch has a size but no access; an address that is only computed is no use of memory.
    """
    found = set()
    for operand in scheme.operands:
        if operand.kind == "memory":
            found |= {*operand.access, f"size:{operand.width}"}
    return frozenset(found)


def operand_types(operand: Operand) -> Iterator[str]:
    """What an operand is called with its access: `GPR[64]:RW`, `cl:R`, `0x1`; each flag by itself: `cf:W`."""
    if operand.kind == "flags":
        yield from (f"{flag}:{operand.access}" for flag in operand.registers)
    else:
        yield operand.text


def _operands(scheme: Scheme) -> frozenset[str]:
    return frozenset(name for operand in scheme.operands for name in operand_types(operand))


_VALUES: dict[str, Callable[[Scheme, Form], str | frozenset[str]]] = {
    "mnemonic": lambda scheme, _: scheme.mnemonic,
    "category": lambda scheme, _: scheme.category,
    "extension": lambda scheme, _: extension(scheme),
    "isa-set": lambda _, form: "+".join(features(form.code)),
    "lock": lambda _, form: YES if form.prefix in _LOCK else NO,
    "rep": lambda _, form: YES if form.prefix in _REPEATED else NO,
    "memory": lambda scheme, _: memory(scheme),
    "operands": lambda scheme, _: _operands(scheme),
    "scheme": lambda scheme, _: scheme.text,
}

"""Why a scheme is not in the default inference set, in words for the user.

The default set holds what a throughput measurement in user mode can say something about: copies of the scheme
can be made independent of each other, and nothing but ports limits how fast they run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iced_x86 import EncodingKind, OpCodeInfo

from inference.isa.scheme import Operand
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import GPR8_HIGH

_SYSTEM = "talks to the operating system or the whole processor; its time says nothing about ports"

_BY_CATEGORY = {
    "jump": "changes the control flow",
    "branch": "changes the control flow",
    "call": "changes the control flow",
    "return": "changes the control flow",
    "interrupt": "changes the control flow",
    "transaction": "transactional memory",
    "x87": "x87: its register stack makes every instruction depend on the one before",
    "system": _SYSTEM,
    "state": "saves, restores or clears register state as a whole",
    "fence": "waits for earlier memory accesses",
    "cache": "manages the caches",
    "random": "waits for the hardware random number generator",
    "gather": "needs a vector of valid addresses",
    "scatter": "needs a vector of valid addresses",
    "stack": "moves the stack pointer",
    "string": "moves its fixed address registers along",
}

_BY_FEATURE = {
    "XOP": "only processors of AMD's Bulldozer family have it",
    "FMA4": "only processors of AMD's Bulldozer family have it",
    "TBM": "only processors of AMD's Bulldozer family have it",
    "LWP": "only processors of AMD's Bulldozer family have it",
    "D3NOW": "3DNow!: no current processor has it",
    "D3NOWEXT": "3DNow!: no current processor has it",
    "MPX": "no current processor has it",
    "CET_SS": "shadow stacks have to be switched on by the operating system",
    "UINTR": _SYSTEM,
    "SGX1": _SYSTEM,
    "PKU": _SYSTEM,
    "FSGSBASE": "changes where thread-local data is found",
    "PTWRITE": _SYSTEM,
    "RDPID": _SYSTEM,
    "WAITPKG": _SYSTEM,
    "ENQCMD": _SYSTEM,
    "AESKLE": "needs a wrapping key that the operating system loads",
    "KL": "needs a wrapping key that the operating system loads",
    "WIDE_KL": "needs a wrapping key that the operating system loads",
    "RAO_INT": "an atomic access that the caches carry out",
    "CMPCCXADD": "an atomic access that waits for all others",
    "PREFETCHITI": "a hint about code that only counts for rip-relative addresses",
    "MOVDIR64B": "goes past the caches",
    "MOVDIRI": "goes past the caches",
}


_FIXED = {
    "flags": "reads and writes the flags {}",
    "register": "reads and writes the fixed register {}",
    "memory": "reads and writes memory at the fixed register {}",
}
_WAITS = "each copy waits for the one before"
_MEASURABLE = ("legacy SSE", "a special case of", "an undocumented second encoding")


def exclusion(
    form: Form, info: OpCodeInfo, kind: str, features: Sequence[str], operands: Sequence[Operand]
) -> str:
    """The reason for leaving a scheme out of the default inference set, empty where there is none."""
    return next(reasons(form, info, kind, features, operands), "")


def prevents_measuring(reason: str) -> bool:
    """Whether a reason means that a scheme cannot be measured, not only that it is not offered by default."""
    return not reason.startswith(_MEASURABLE)


def reasons(
    form: Form, info: OpCodeInfo, kind: str, features: Sequence[str], operands: Sequence[Operand]
) -> Iterator[str]:
    """All reasons for leaving a scheme out of the default inference set, the weightiest first."""
    if info.is_privileged or info.must_be_cpl0 or info.is_input_output:
        yield "needs kernel rights"
    if info.encoding == EncodingKind.EVEX:
        yield "AVX-512 (EVEX encoding)"
    if any(feature.startswith("AMX") for feature in features):
        yield "AMX: tiles have to be configured first"
    for feature in features:
        if feature in _BY_FEATURE:
            yield _BY_FEATURE[feature]
    if kind in _BY_CATEGORY:
        yield _BY_CATEGORY[kind]
    yield from _by_operands(form, info, operands)
    yield from _by_dependency(operands)


def _by_operands(form: Form, info: OpCodeInfo, operands: Sequence[Operand]) -> Iterator[str]:
    """The reasons in the form and its operands that hold."""
    names = {hole.name for hole in form.holes}
    in_memory = any(hole.kind == "memory" for hole in form.holes)
    legacy_vector = info.encoding == EncodingKind.LEGACY and (
        "XMM" in names or form.mnemonic.startswith(("cvt", "maskmov"))
    )
    general = ", ".join(hole.name for hole in form.narrows or ())
    possible = (
        ("MM" in names, "MMX: shares its registers with x87"),
        ("K" in names, "AVX-512 mask registers"),
        (legacy_vector, "legacy SSE: mixing it with VEX-encoded instructions costs extra cycles"),
        (not names.isdisjoint({"SEG", "fs", "gs"}), "uses a segment register"),
        (form.prefix == "lock", "a locked access waits for all others"),
        (form.mnemonic == "xchg" and in_memory, "a locked access waits for all others"),
        (info.is_non_temporal, "goes past the caches"),
        (any(hole.shape == "moffs" for hole in form.holes), "accesses a fixed absolute address"),
        (form.narrows is not None, f"a special case of {form.mnemonic} {general}"),
        (form.prefix in {"data16", "rex.w"}, "its operand-size prefix only lengthens it"),
        (form.mnemonic == "sal", "an undocumented second encoding of shl"),
        (form.mnemonic == "pause", "waits on purpose"),
        (_touches_direction(operands), "changes the direction of string instructions"),
    )
    return (reason for holds, reason in possible if holds)


def _touches_direction(operands: Sequence[Operand]) -> bool:
    return any(operand.kind == "flags" and "df" in operand.registers for operand in operands)


def _by_dependency(operands: Sequence[Operand]) -> Iterator[str]:
    """Why copies of the scheme cannot be made independent: something fixed is both read and written."""
    for operand in operands:
        if operand.access != "RW":
            continue
        if operand.name == GPR8_HIGH.name:
            yield "reads and writes one of ah, bh, ch, dh: too few registers for independent copies"
        if operand.registers:
            yield f"{_FIXED[operand.kind].format(', '.join(operand.registers))}: {_WAITS}"

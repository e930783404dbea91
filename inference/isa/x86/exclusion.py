"""Why a scheme is not in the default inference set, in words for the user.

The default set contains the schemes that a throughput measurement in user mode can characterise: their copies
can be made independent, and only ports limit their throughput. There are three kinds of reasons against a
scheme, distinguished by their prefixes, in a database too:

- it belongs to a group that is measured on request (`GROUPS`), or is a special case of another scheme,
- something hard-wired is read and written, so that copies are independent only with another instruction
  before each (`BREAKABLE`, see `dependency_breakers`),
- anything else: it is not measured at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iced_x86 import EncodingKind, OpCodeInfo

from inference.isa.scheme import BREAKABLE, SELECTABLE, Operand
from inference.isa.tables import table_of_module
from inference.isa.x86.forms import Form
from inference.isa.x86.holes import GPR8_HIGH
from inference.isa.x86.instances import instance

ARITHMETIC_FLAGS = frozenset({"cf", "of", "sf", "zf", "af", "pf"})

_TABLES = table_of_module(__file__)
_BY_CATEGORY, _BY_FEATURE = (
    {name: reason for reason, names in _TABLES[kind].items() for name in names}
    for kind in ("categories", "features")
)


_WAITS = "each copy waits for the one before"

_X87_STATE = frozenset({"fldcw", "fldenv", "fnstenv", "fnsave", "frstor", "fninit", "fnclex", "ffree"})


def exclusion(
    form: Form, info: OpCodeInfo, kind: str, features: Sequence[str], operands: Sequence[Operand]
) -> str:
    """The most severe reason for excluding a scheme from the default inference set, "" without any."""
    return min(reasons(form, info, kind, features, operands), key=_rank, default="")


def prevents_measuring(reason: str, *, breaking: bool = False) -> bool:
    """Whether a scheme with this reason cannot be measured, instead of only not being in the default set.

    `breaking`: other instructions break dependencies where possible.
    """
    return not reason.startswith((*SELECTABLE, *BREAKABLE) if breaking else SELECTABLE)


def _rank(reason: str) -> int:
    return 2 if reason.startswith(SELECTABLE) else 1 if reason.startswith(BREAKABLE) else 0


def reasons(
    form: Form, info: OpCodeInfo, kind: str, features: Sequence[str], operands: Sequence[Operand]
) -> Iterator[str]:
    """All reasons for excluding a scheme from the default inference set."""
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
    if kind == "x87":
        yield from _by_stack(form)
    yield from _by_operands(form, info, operands)
    yield from _by_dependency(operands)


def _by_operands(form: Form, info: OpCodeInfo, operands: Sequence[Operand]) -> Iterator[str]:
    """Reasons, from the operands, to leave a scheme out of the default set."""
    names = {hole.name for hole in form.holes}
    in_memory = any(hole.kind == "memory" for hole in form.holes)
    legacy_vector = info.encoding == EncodingKind.LEGACY and (
        "XMM" in names or form.mnemonic.startswith(("cvt", "maskmov"))
    )
    general = ", ".join(hole.name for hole in form.narrows or ())
    possible = (
        ("MM" in names, "MMX: shares its registers with x87"),
        (not names.isdisjoint({"K", "Kx2"}), "AVX-512 mask registers"),
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
        (
            form.mnemonic in {"div", "idiv"} and GPR8_HIGH.name in names,
            "divides by the second byte of a register, which small values leave zero",
        ),
        (_has_fixed_address(operands), "accesses memory at a fixed register"),
        (_uses_direction_flag(operands), "changes the direction of string instructions"),
    )
    return (reason for holds, reason in possible if holds)


def _by_stack(form: Form) -> Iterator[str]:
    """The reasons from x87's registers, which are numbered from the top of a stack."""
    moves = instance(form).fpu_stack_increment_info()
    if form.mnemonic in _X87_STATE:
        yield "changes or saves the state of the x87 unit"
    elif moves.increment or moves.writes_top:
        yield "moves the x87 register stack: what its registers are called changes from copy to copy"
    yield "x87: works on registers of its own"


def _has_fixed_address(operands: Sequence[Operand]) -> bool:
    return any(operand.kind == "memory" and operand.registers for operand in operands)


def _uses_direction_flag(operands: Sequence[Operand]) -> bool:
    return any(operand.kind == "flags" and "df" in operand.registers for operand in operands)


def _by_dependency(operands: Sequence[Operand]) -> Iterator[str]:
    """Why copies of the scheme cannot be independent: a fixed operand is both read and written."""
    for operand in operands:
        if operand.access != "RW":
            continue
        registers = ", ".join(operand.registers)
        if operand.name == GPR8_HIGH.name:
            yield "reads and writes one of ah, bh, ch, dh: too few registers for independent copies"
        elif operand.kind == "flags":
            general = ARITHMETIC_FLAGS.issuperset(operand.registers)
            yield f"reads and writes the {'' if general else 'special '}flags {registers}: {_WAITS}"
        elif operand.kind == "register" and registers.startswith("st"):
            yield f"reads and writes {registers}, the top of the x87 register stack: {_WAITS}"
        elif operand.kind == "register" and registers:
            yield f"reads and writes the fixed register {registers}: {_WAITS}"

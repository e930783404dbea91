"""Other names of mnemonics: of conditions, and those that stand for an immediate as well."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from inference.isa.x86.forms import MNEMONICS

_CONDITIONS = {
    "c": "b", "nae": "b", "nb": "ae", "nc": "ae", "z": "e", "nz": "ne", "na": "be", "nbe": "a", "pe": "p",
    "po": "np", "nge": "l", "nl": "ge", "ng": "le", "nle": "g",
}  # fmt: skip
_PREDICATES = (
    *("eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord", "eq_uq", "nge", "ngt", "false", "neq_oq", "ge"),
    *("gt", "true", "eq_os", "lt_oq", "le_oq", "unord_s", "neq_us", "nlt_uq", "nle_uq", "ord_s", "eq_us"),
    *("nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq", "gt_oq", "true_us"),
)
_LEGACY_PREDICATES = 8
_INTEGER_PREDICATES = {
    name: value for value, name in enumerate(("eq", "lt", "le", "false", "neq", "nlt", "nle", "true"))
}
_XOP_PREDICATES = ("lt", "le", "gt", "ge", "eq", "neq", "false", "true")
_QUARTERS = {"lqlq": 0x00, "hqlq": 0x01, "lqhq": 0x10, "hqhq": 0x11}

_OTHERS = {"movabs": "mov", "sal": "shl", "movsx": "movsxd", "fwait": "wait", "xlat": "xlatb", "retn": "ret"}
_STRINGS = ("movs", "cmps", "stos", "lods", "scas")


def readings(mnemonic: str) -> Iterator[tuple[str, int | None]]:
    """The mnemonics that a name can stand for, with the immediate that it implies, the plainest first."""
    known = known_mnemonics()
    if mnemonic in known and mnemonic != "sal":  # of which iced knows an undocumented encoding
        yield mnemonic, None
    if mnemonic in _STRINGS:
        yield from ((f"{mnemonic}{size}", None) for size in "bwdq")
    elif mnemonic in _OTHERS:
        yield _OTHERS[mnemonic], None
    if mnemonic in _pseudo_operations():
        yield _pseudo_operations()[mnemonic]
    for start, end in (("cmov", ""), ("set", ""), ("j", ""), ("cmp", "xadd")):
        condition = mnemonic.removeprefix(start).removesuffix(end)
        if f"{start}{condition}{end}" == mnemonic:
            for name in (_CONDITIONS.get(condition), *_same_as(condition)):
                if name is not None and f"{start}{name}{end}" in known:
                    yield f"{start}{name}{end}", None


@cache
def known_mnemonics() -> frozenset[str]:
    """All that iced's opcode tables have."""
    return frozenset(MNEMONICS.values())


def _same_as(condition: str) -> list[str]:
    return [other for other, name in _CONDITIONS.items() if condition in (name, _CONDITIONS.get(other))]


@cache
def _pseudo_operations() -> dict[str, tuple[str, int]]:
    found: dict[str, tuple[str, int]] = {}
    for value, name in enumerate(_PREDICATES):
        for kind in ("ps", "pd", "ss", "sd", "ph", "sh"):
            found[f"vcmp{name}{kind}"] = f"vcmp{kind}", value
            if value < _LEGACY_PREDICATES:
                found[f"cmp{name}{kind}"] = f"cmp{kind}", value
    for kind in ("b", "w", "d", "q", "ub", "uw", "ud", "uq"):
        for name, value in _INTEGER_PREDICATES.items():
            found[f"vpcmp{name}{kind}"] = f"vpcmp{kind}", value
        for value, name in enumerate(_XOP_PREDICATES):
            found[f"vpcom{name}{kind}"] = f"vpcom{kind}", value
    for name, value in _QUARTERS.items():
        found[f"pclmul{name}dq"] = "pclmulqdq", value
        found[f"vpclmul{name}dq"] = "vpclmulqdq", value
    return found

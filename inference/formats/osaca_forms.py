"""Schemes as forms of OSACA: mnemonics and classes of operands in AT&T order, or as Arm writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inference.core.mapping import Uops
from inference.formats.exported import ExportedScheme
from inference.isa.llvm_opcodes import tool_side
from inference.isa.scheme import Operand
from inference.isa.targets import AARCH64, X86

_ANYWHERE = "class: memory, base: '*', offset: '*', index: '*', scale: '*'"
_IMMEDIATE = "class: immediate, imd: int"
_XMM = "class: register, name: xmm"
_OTHER_REGISTERS = ("class: register, name: k", "class: register, name: st")
_ARM_REGISTER = re.compile(r"(GPR|FPR)\[(\d+)\]|VEC\[\d+([BHSD])\]")
_ARM_PREFIX = {
    "GPR64": "x",
    "GPR32": "w",
    "FPR8": "b",
    "FPR16": "h",
    "FPR32": "s",
    "FPR64": "d",
    "FPR128": "q",
}
_ARM_SHIFTED = re.compile(r"(?:lsl|lsr|asr|ror|msl|[us]xt[bhw])(?: \d+)?")
_VECTORS = ("xmm", "ymm", "zmm", "mm")
_XMM0_FIRST = frozenset({"blendvpd", "blendvps", "pblendvb", "sha256rnds2"})
"""Some assemblers write xmm0 ahead of the other operands."""
_ONE = "0x1"
"""Some assemblers do not write that a shift is by one."""


@dataclass(frozen=True)
class OsacaForm:
    """A scheme as OSACA sees it: mnemonics without and with a letter for the width, classes of operands.

    `regular`: the last operand is just written, and the others are just read. `latency` in cycles. `alone`:
    cycles of an instance, where these are known in place of ports.
    """

    scheme: ExportedScheme
    mnemonic: str
    suffixed: str
    operands: tuple[str, ...]
    regular: bool = True
    latency: float = 0.0
    alone: float | None = None

    @property
    def preference(self) -> tuple[bool, bool, int, int]:
        """Of several that OSACA cannot tell apart: known ports, undecorated, wide, short immediates."""
        shown = self.scheme.shown
        widths = [each["width"] for each in shown if each["kind"] != "immediate"]
        immediates = [each["width"] for each in shown if each["kind"] == "immediate"]
        decorated = "{" in self.scheme.text
        return self.alone is not None, decorated, -max(widths, default=0), sum(immediates)

    @property
    def costs(self) -> tuple[Uops, int, float, float | None]:
        """What schemes have to agree in to share a form."""
        return self.scheme.uops, self.scheme.slots, self.latency, self.alone


def forms_of(
    scheme: ExportedScheme, latency: float, *, isa: str, alone: float | None = None
) -> list[OsacaForm]:
    """The forms of a scheme, as several assemblers write it; none where OSACA has no words for it."""
    return [replace(form, latency=latency, alone=alone) for form in _FORMS[isa](scheme)]


def specific_first(operands: Sequence[str]) -> int:
    """The order in which OSACA has to see forms.

    The first that fits counts, and a general register stands for all that are no vectors.
    """
    if any("fixed" in each for each in operands):
        return 0
    others = sum(each in _OTHER_REGISTERS for each in operands)
    return 4 - others if others else 5


def _x86_forms(scheme: ExportedScheme) -> Iterator[OsacaForm]:
    found = tool_side(X86).written(scheme.text)
    if found is None:
        return
    operands = [_x86_operand(each.as_json()) for each in found.operands]
    known = tuple(each for each in operands if each is not None)
    if len(known) < len(operands):
        return
    form = OsacaForm(scheme, found.mnemonic, found.suffixed, known, _is_regular(found.operands))
    yield form
    if found.mnemonic in _XMM0_FIRST:
        yield replace(form, operands=(_XMM, *known))
    if found.operands and found.operands[0].name == _ONE:
        yield replace(form, operands=known[1:])


def _is_regular(operands: Sequence[Operand]) -> bool:
    *before, last = [operand.access or "R" for operand in operands] or ["R"]
    return last == ("W" if before else "R") and all(access == "R" for access in before)


def _x86_operand(operand: Mapping[str, Any]) -> str | None:
    kind, name = operand["kind"], operand["name"].partition("{")[0]
    if kind == "immediate":
        return _IMMEDIATE
    if kind in {"memory", "address"}:
        index = re.search(r",([XYZ]MM)\]", name)
        return _ANYWHERE if index is None else _ANYWHERE.replace("index: '*'", f"index: {index[1].lower()}")
    if kind == "branch":
        return "class: identifier"
    if kind == "register" and operand["registers"]:
        one = operand["registers"][0].rstrip("0123456789")
        return f"class: register, name: {one}" if one in _VECTORS else f"fixed class: register, name: {one}"
    if kind == "register" and (name.startswith("GPR") or name.lower() in {*_VECTORS, "k", "st"}):
        return f"class: register, name: {'gpr' if name.startswith('GPR') else name.lower()}"
    return None


def _arm_forms(scheme: ExportedScheme) -> Iterator[OsacaForm]:
    """Modifiers of the operand before them are part of it, as far as OSACA looks."""
    shown = [each for each in scheme.shown if not _ARM_SHIFTED.fullmatch(each["name"])]
    known = tuple(found for each in shown if (found := _arm_operand(each)) is not None)
    if len(known) == len(shown):
        yield OsacaForm(scheme, scheme.mnemonic, scheme.mnemonic, known)


def _arm_operand(operand: Mapping[str, Any]) -> str | None:
    name = operand["name"]
    if (register := _ARM_REGISTER.fullmatch(name)) and register[3]:
        return f"class: register, prefix: v, shape: {register[3].lower()}"
    if register:
        return f"class: register, prefix: {_ARM_PREFIX[register[1] + register[2]]}"
    if operand["kind"] == "memory":
        indexed = f"pre_indexed: {_yes(',pre' in name)}, post_indexed: {_yes(',post' in name)}"
        return f"{_ANYWHERE}, {indexed}" if ",pc" not in name else None
    if name == "COND":
        return "class: condition, ccode: '*'"
    if operand["kind"] == "immediate":
        return _IMMEDIATE if name.startswith("IMM[") or name.isdecimal() else None
    return "class: identifier" if operand["kind"] == "branch" else None


def _yes(value: bool) -> str:
    return "true" if value else "false"


_FORMS: Mapping[str, Callable[[ExportedScheme], Iterator[OsacaForm]]] = {
    X86: _x86_forms,
    AARCH64: _arm_forms,
}
OSACA_NAMES = {X86: "x86", AARCH64: "aarch64"}
"""{instruction set: what OSACA calls it}, of those that it knows."""

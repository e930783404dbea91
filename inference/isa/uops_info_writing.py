"""Schemes as `instruction` elements like those of uops.info's `instructions.xml`, whose names read back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inference.isa.uops_info import XmlInstruction, XmlOperand, scheme_name

_NUMBERED = [f"R{number}" for number in range(8, 16)]
_OLD = ("AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI")
_CLASSES = {
    "GPR[8]": "AL,CL,DL,BL,SPL,BPL,SIL,DIL," + ",".join(f"{name}B" for name in _NUMBERED),
    "GPR[8h]": "AH,CH,DH,BH",
    "GPR[8a]": "AL,CL,DL,BL,R8B,R9B,R10B,R11B",
    "GPR[8b]": "SPL,BPL,SIL,DIL,R12B,R13B,R14B,R15B",
    "GPR[16]": ",".join((*_OLD, *(f"{name}W" for name in _NUMBERED))),
    "GPR[32]": ",".join((*(f"E{name}" for name in _OLD), *(f"{name}D" for name in _NUMBERED))),
    "GPR[64]": ",".join((*(f"R{name}" for name in _OLD), *_NUMBERED)),
    "XMM": ",".join(f"XMM{number}" for number in range(16)),
    "YMM": ",".join(f"YMM{number}" for number in range(16)),
    "ZMM": ",".join(f"ZMM{number}" for number in range(32)),
    "MM": ",".join(f"MM{number}" for number in range(8)),
    "K": ",".join(f"K{number}" for number in range(1, 8)),
    "ST": ",".join(f"ST({number})" for number in range(8)),
    "SEG": "DS,ES,FS,GS,SS",
    "CR": ",".join(f"CR{number}" for number in (0, 2, 3, 4, 8)),
    "DR": ",".join(f"DR{number}" for number in range(8)),
}
_MEMORY = re.compile(r"MEM\[(\d+)(?:,([A-Za-z]+))?\](\{\w+\})?")
_SIZED = re.compile(r"(GPR|MEM|IMM|REL)\[(\d++)[a-z]?.*\]")
_LETTERS = {"GPR": "R", "MEM": "M", "IMM": "I", "REL": "Rel"}
_ADDRESS_PARTS = {"B": "B", "I": "I", "S*I": "IS", "D8": "D8", "D": "D32"}
_MASKED = re.compile(r"\{k\}(\{z\})?")
_KINDS = {"register": "reg", "memory": "mem", "immediate": "imm", "branch": "relbr", "address": "agen"}


def element(text: str, mnemonic: str, operands: Sequence[Mapping[str, Any]]) -> XmlInstruction:
    """The element of a scheme; `operands` are objects as `Operand.as_json` makes them.

    `scheme_name` of it is the text again: of what uops.info's notation cannot say, there is the text alone.
    """
    shown = [each for each in operands if not each.get("implicit")]
    made = XmlInstruction(
        {"asm": _assembly(text, shown), "string": _title(mnemonic, shown)},
        [XmlOperand(*parts) for each in shown if (parts := _operand(each)) is not None],
    )
    attributes = dict(made.attributes)
    for operand in shown:
        if masked := _MASKED.search(operand["name"]):
            made.operands.append(XmlOperand({"type": "reg", "r": "1", "opmask": "1"}, _CLASSES["K"]))
            attributes["zeroing"] = "1" if masked[1] else "0"
        if operand["kind"] == "address":
            parts = operand["name"].removeprefix("ADDR").strip("[]").split("+")
            attributes["agen"] = "_".join(_ADDRESS_PARTS.get(part, "") for part in parts)
    attributes |= {name: "1" for name, sign in (("roundc", "{er}"), ("sae", "{sae}")) if text.endswith(sign)}
    made.attributes = attributes
    return made if scheme_name(made) == text else XmlInstruction({"string": text})


def numbered_element(
    text: str, mnemonic: str, operands: Sequence[Mapping[str, Any]], names: Iterable[str]
) -> tuple[XmlInstruction, dict[str, int]]:
    """The element with implicit registers and flags too, and its operands' numbers by their names.

    The names are those that `inference.isa.chains.ChainLink` has, without parts of memory: "1", "rax",
    "flags", "mask". All flags are one operand. What only `names` has, since an instruction set that came with
    an import knows no implicit operands, is added.
    """
    made = element(text, mnemonic, operands)
    shown = [each for each in operands if not each.get("implicit")]
    made.operands = made.operands or [XmlOperand(*(_operand(each) or _unusual(each))) for each in shown]
    numbers = {str(number): number for number in range(1, len(shown) + 1)}
    if any("{k}" in each["name"] for each in shown):
        masks = [at for at, each in enumerate(made.operands, start=1) if "opmask" in each.attributes]
        if not masks:
            made.operands.append(XmlOperand({"type": "reg", "r": "1", "opmask": "1"}, _CLASSES["K"]))
        numbers["mask"] = masks[0] if masks else len(made.operands)
    flags: dict[str, str] = {}
    for operand in operands:
        letters = operand["access"].lower()
        if operand["kind"] == "flags":
            flags |= {f"flag_{name.upper()}": letters for name in operand["registers"]}
        elif operand.get("implicit") and operand["kind"] == "register":
            given = {"type": "reg", "suppressed": "1", **dict.fromkeys(letters, "1")}
            made.operands.append(
                XmlOperand({**given, "width": str(operand["width"])}, operand["name"].upper())
            )
            numbers.setdefault(operand["name"], len(made.operands))
    if flags:
        access = dict.fromkeys((letter for letter in "rw" if letter in "".join(flags.values())), "1")
        made.operands.append(XmlOperand({"type": "flags", "suppressed": "1", **access, **flags}))
        numbers["flags"] = len(made.operands)
    for name in names:
        if name not in numbers:
            kind = "flags" if name == "flags" else "reg"
            register = "" if name == "flags" else name.upper()
            made.operands.append(XmlOperand({"type": kind, "suppressed": "1"}, register))
            numbers[name] = len(made.operands)
    return made, numbers


def _unusual(operand: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Attributes and inner text of what has no place in the notation."""
    access = dict.fromkeys(operand["access"].lower(), "1")
    return {"type": _KINDS.get(operand["kind"], "other"), **access}, operand["name"]


def _assembly(text: str, shown: Sequence[Mapping[str, Any]]) -> str:
    """Prefixes and mnemonic in capitals: what stands before the first operand."""
    first = f"{shown[0]['name']}:{shown[0]['access']}" if shown and shown[0]["access"] else ""
    first = first or (shown[0]["name"] if shown else "")
    return text[: text.index(first)].strip().upper() if first and first in text else text.upper()


def _title(mnemonic: str, shown: Sequence[Mapping[str, Any]]) -> str:
    """As uops.info puts it: `ADD (R64, M64)`."""
    short = []
    for operand in shown:
        sized = _SIZED.fullmatch(operand["name"])
        short.append(f"{_LETTERS[sized[1]]}{sized[2]}" if sized else operand["name"].upper())
    return f"{mnemonic.upper()} ({', '.join(short)})" if short else mnemonic.upper()


def _operand(operand: Mapping[str, Any]) -> tuple[dict[str, str], str] | None:
    """Attributes and inner text; None for what has no place in the notation."""
    name = _MASKED.sub("", operand["name"])
    given = {letter.lower(): "1" for letter in operand["access"]}
    if operand["kind"] == "register":
        fixed = name.upper() if operand["registers"] else None
        if fixed is not None and re.fullmatch(r"ST\d", fixed):
            fixed = f"ST({fixed[2]})"
        text = _CLASSES.get(name, fixed)
        return None if text is None else ({"type": "reg", **given, "width": str(operand["width"])}, text)
    if operand["kind"] == "memory" and (memory := _MEMORY.fullmatch(name)):
        width, inside, suffix = memory.groups()
        where = {"VSIB": inside} if inside and inside.isupper() else {}
        if inside and not where:
            where = {"suppressed": "1", "base": inside.upper()}
        extra = {"memory-suffix": suffix} if suffix else {}
        return {"type": "mem", "width": width, **given, **where, **extra}, ""
    if operand["kind"] == "immediate":
        fixed = str(int(name, 16)) if name.startswith("0x") else ""
        return {"type": "imm", **given, "width": str(operand["width"])}, fixed
    if operand["kind"] == "branch":
        return {"type": "relbr", "width": str(operand["width"])}, ""
    return ({"type": "agen"}, "") if operand["kind"] == "address" else None

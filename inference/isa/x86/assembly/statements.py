"""One statement of assembly, taken apart: prefixes, mnemonic, operands and decorations, in either syntax."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace

from iced_x86 import Register

from inference.isa.x86.assembly import att, intel
from inference.isa.x86.assembly.errors import BlockError
from inference.isa.x86.assembly.instructions import ROUNDINGS
from inference.isa.x86.assembly.mnemonics import known_mnemonics, known_name
from inference.isa.x86.assembly.operands import (
    MemoryOperand,
    Operand,
    RegisterOperand,
    TargetOperand,
    Written,
    is_mask,
    is_vector,
    registers,
)
from inference.isa.x86.assembly.prefixes import is_prefix
from inference.isa.x86.iced_types import RegisterValue

_BRANCH = re.compile(r"(j[a-z]{1,5}|call[qw]?|jmp[qw]?|loop[a-z]*|xbegin)(?:,p([nt]))?")
_MNEMONIC = re.compile(r"[a-z][a-z0-9_.]*(?:,p[nt])?", re.ASCII)
_DECORATION = re.compile(r"\{([^{}]*)\}")
_DISTANCE = re.compile(r"(?:short|near|far)\b\s*(?:ptr\b)?\s*", re.IGNORECASE)
_PLACE = re.compile(
    r"(?:0x)?(?P<address>[0-9a-f]+)?\s*<(?P<label>.*?)(?P<offset>[+-]0x[0-9a-f]+)?>", re.IGNORECASE
)
_ATT = re.compile(r"(?:^|[\s,(*:{])%[a-z]|(?:^|[\s,])\$[\w.(-]", re.IGNORECASE)
_INTEL = re.compile(r"\[|\bptr\b|\boffset\b|\bbcst\b", re.IGNORECASE)
LONGEST_INSTRUCTION = 500


def begins_instruction(text: str) -> bool:
    """Whether the first words are prefixes or a mnemonic of either syntax."""
    words = text.split(None, 1)
    while words and is_prefix(words[0]):
        if len(words) == 1:
            return True
        words = words[1].split(None, 1)
    return (
        bool(words)
        and bool(_MNEMONIC.fullmatch(words[0].lower()))
        and known_name(words[0].lower().partition(",")[0])
    )


def evidence(text: str) -> str:
    """The syntax that the operands of an instruction show: "att", "intel", or "" where both are alike."""
    operands = (*text.split(None, 1), "")[1]
    if _ATT.search(f" {operands}"):
        return "att"
    if _INTEL.search(operands):
        return "intel"
    words = re.findall(r"[a-z]\w*", operands.lower())
    return "intel" if any(word in registers() for word in words) else ""


def read_statement(text: str, syntax: str, constants: dict[str, int]) -> Written:
    """An instruction without label and comment; `syntax` is "intel" or "att". Raises `BlockError`.

    An empty mnemonic means that there are prefixes alone.
    """
    if len(text) > LONGEST_INSTRUCTION:
        raise BlockError(f"an instruction has at most {LONGEST_INSTRUCTION} characters")
    rest = text.strip()
    prefixes: list[str] = []
    while rest:
        word, after = (*rest.split(None, 1), "")[:2]
        if not is_prefix(word):
            break
        prefixes.append(word.lower())
        rest = after.strip()
    if not rest:
        return Written("", prefixes=tuple(prefixes))
    mnemonic, written = (*rest.split(None, 1), "")[:2]
    mnemonic = mnemonic.lower()
    if not _MNEMONIC.fullmatch(mnemonic):
        raise BlockError(f"an instruction begins with its mnemonic, not with {mnemonic[:40]!r}")
    branch = _BRANCH.fullmatch(mnemonic)
    if branch and branch.group(2):
        prefixes.append("hnt" if branch.group(2) == "n" else "ht")
        mnemonic = branch.group(1)
    if not known_name(mnemonic):
        near = difflib.get_close_matches(mnemonic, known_mnemonics(), 3)
        hint = f"; is it {' or '.join(near)}?" if near else ""
        raise BlockError(f"x86-64 has no instruction {mnemonic[:40]!r}{hint}")
    is_att = syntax == "att"
    if branch and (target := _target(written, is_att=is_att)) is not None:
        return Written(mnemonic, (target,), tuple(prefixes), is_att=is_att)
    found = Written(mnemonic, (), tuple(prefixes), is_att=is_att)
    return _with_operands(found, written, constants)


def split_operands(text: str) -> Iterator[str]:
    """The operands between commas that are in no brackets of any kind."""
    depth = begin = 0
    for at, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth <= 0:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]


def _target(text: str, *, is_att: bool) -> TargetOperand | None:
    """Where a jump leads by a name or an address; None where a register or memory says so."""
    stripped = _DISTANCE.sub("", text.strip(), count=1) if not is_att else text.strip()
    if not stripped:
        raise BlockError("where it leads to is missing")
    if place := _PLACE.fullmatch(stripped):
        address = place["address"]
        return TargetOperand(
            place["label"], int(address, 16) if address else None, int(place["offset"] or "0", 16)
        )
    if is_att and (stripped.startswith("*") or "(%" in stripped or stripped.startswith("%")):
        return None
    if not is_att and (
        "[" in stripped or stripped.lower() in registers() or " ptr " in f" {stripped.lower()} "
    ):
        return None
    return TargetOperand(stripped.removeprefix("$") if is_att else stripped)


def _with_operands(found: Written, written: str, constants: dict[str, int]) -> Written:
    decorations = [name.strip().lower() for name in _DECORATION.findall(written)]
    parts = []
    if written.strip():
        for part in split_operands(written):
            bare = _DECORATION.sub("", part).strip()
            if bare or not _DECORATION.search(part):  # a rounding stands between commas of its own
                parts.append(bare)
    read = att.read_operand if found.is_att else intel.read_operand
    operands = [read(part.removeprefix("*") if found.is_att else part, constants) for part in parts]
    if found.is_att:
        operands = list(att.in_order_of_intel(found.mnemonic, operands))
    decorated = _decorated(found, decorations, operands)
    return replace(decorated, operands=tuple(operands))


def _decorated(found: Written, names: list[str], operands: list[Operand]) -> Written:
    mask: RegisterValue = Register.NONE
    zeroing, rounding, broadcast = False, "", 0
    for name in names:
        if name == "z":
            zeroing = True
        elif name in ROUNDINGS:
            rounding = name
        elif re.fullmatch(r"1to\d{1,2}", name):
            broadcast = int(name[3:])
        elif re.fullmatch(r"%?k[0-7]", name):
            mask = registers()[name.removeprefix("%")]
        else:
            raise BlockError(
                f"there is no decoration {{{name[:20]}}}: {{k1}}, {{z}}, {{1to8}}, {{rn-sae}} are some"
            )
    for k, one in enumerate(operands):
        if isinstance(one, MemoryOperand):
            if broadcast:
                operands[k] = one = replace(one, broadcast=broadcast)
            if is_vector(one.index):
                for other in [
                    other
                    for other in operands
                    if isinstance(other, RegisterOperand) and is_mask(other.register)
                ]:
                    operands.remove(other)  # of gathers and scatters, some write the mask as an operand
                    mask = other.register
                break
    return replace(found, mask=mask, zeroing=zeroing, rounding=rounding)

"""Parses one statement of assembly: prefixes, mnemonic, operands and decorations, in either syntax."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from iced_x86 import Register

from inference.isa.code.block import BlockError
from inference.isa.x86.assembly import att, intel
from inference.isa.x86.assembly.instructions import ROUNDINGS
from inference.isa.x86.assembly.mnemonics import is_mnemonic, known_mnemonics
from inference.isa.x86.assembly.operands import (
    MemoryOperand,
    Operand,
    RegisterOperand,
    TargetOperand,
    WrittenInstruction,
    is_mask,
    is_vector,
    registers,
)
from inference.isa.x86.assembly.prefixes import is_prefix
from inference.isa.x86.iced_types import RegisterValue

_BRANCH = re.compile(r"(j[a-z]{1,5}|call[qw]?|jmp[qw]?|loop[a-z]*|xbegin)(?:,p([nt]))?")
"""Mnemonic of a branch, with a hint: `jne,pt`."""

_HINTS = {None: "", "n": "hnt", "t": "ht"}
_MNEMONIC = re.compile(r"[a-z][a-z0-9_.]*(?:,p[nt])?", re.ASCII)
_DECORATION = re.compile(r"\{([^{}]*)\}")
_BROADCAST = re.compile(r"1to(\d{1,2})")  # `1to16`
_MASK = re.compile(r"%?k[0-7]")
_BRACKET = re.compile(r"[(\[{]")
_DISTANCE = re.compile(r"(?:short|near|far)\b\s*(?:ptr\b)?\s*", re.IGNORECASE)
"""Of a jump's target in Intel syntax: `short`, `near ptr`."""

_REMARK = re.compile(r"\s->\S*$")
"""LuaJIT's name of a target: `->LOOP`."""

_PLACE = re.compile(
    r"(?:(?:0x)?(?P<address>[0-9a-f]+)?\s*|\S+\s{2,})<(?P<label>.*?)(?P<offset>[+-](?:0x)?[0-9a-f]+)?>",
    re.IGNORECASE,
)
_ATT = re.compile(r"(?:^|[\s,(*:{])%[a-z]|(?:^|[\s,])\$(?!L+N?\d+@)[\w.(-]", re.IGNORECASE)
"""What only AT&T syntax has: `%rax`, `$1`; `$LL4@f` is a label of MSVC."""

_INTEL = re.compile(r"\[|\bptr\b|\boffset\b|\bbcst\b", re.IGNORECASE)  # what only Intel syntax has
MAX_INSTRUCTION_LENGTH = 500  # characters


def begins_instruction(text: str) -> bool:
    """Whether the first words are prefixes or a mnemonic of either syntax."""
    words = text.split(None, 1)
    while words and is_prefix(words[0]):
        if len(words) == 1:
            return True
        words = words[1].split(None, 1)
    return bool(words) and _is_mnemonic(words[0].lower())


@lru_cache(maxsize=1 << 12)
def _is_mnemonic(word: str) -> bool:
    return bool(_MNEMONIC.fullmatch(word)) and is_mnemonic(word.partition(",")[0])


def syntax_of(text: str, likely: str) -> str:
    """The syntax that an instruction shows, else the `likely` one."""
    if likely == "intel" and "%" not in text and "$" not in text:
        return likely
    return visible_syntax(text) or likely


def visible_syntax(text: str) -> str:
    """The syntax of an instruction's operands: "att", "intel", or "" where they are valid in both."""
    operands = (*text.split(None, 1), "")[1]
    if _ATT.search(f" {operands}"):
        return "att"
    if _INTEL.search(operands):
        return "intel"
    words = re.findall(r"[a-z]\w*", operands.lower())
    return "intel" if any(word in registers() for word in words) else ""


def read_statement(text: str, syntax: str, constants: dict[str, int]) -> WrittenInstruction:
    """An instruction without label and comment; `syntax` is "intel" or "att". Raises `BlockError`.

    The mnemonic is "" where there are only prefixes.
    """
    if len(text) > MAX_INSTRUCTION_LENGTH:
        raise BlockError(f"an instruction has at most {MAX_INSTRUCTION_LENGTH} characters")
    prefixes: list[str] = []
    words = text.split(None, 1)
    while words and is_prefix(words[0]):
        prefixes.append(words[0].lower())
        words = words[1].split(None, 1) if len(words) > 1 else []
    if not words:
        return WrittenInstruction("", prefixes=tuple(prefixes))
    name = _name(words[0].lower())
    operand_text = words[1] if len(words) > 1 else ""
    if name.hint:
        prefixes.append(name.hint)
    is_att = syntax == "att"
    if name.is_branch and (target := _target(operand_text, is_att=is_att)) is not None:
        return WrittenInstruction(name.mnemonic, (target,), tuple(prefixes), is_att=is_att)
    decorated = _decorations(operand_text)
    operands = _operands(operand_text, name.mnemonic, constants, is_att=is_att)
    if decorated.broadcast:
        operands = [
            replace(operand, broadcast=decorated.broadcast) if isinstance(operand, MemoryOperand) else operand
            for operand in operands
        ]
    operands, mask = _with_mask_apart(operands, decorated.mask)
    return WrittenInstruction(
        name.mnemonic,
        tuple(operands),
        tuple(prefixes),
        mask,
        decorated.zeroing,
        decorated.rounding,
        is_att=is_att,
    )


class _Name(NamedTuple):
    """The first word of an instruction; `hint`: the prefix of a jump with ,pt or ,pn."""

    mnemonic: str
    is_branch: bool = False
    hint: str = ""


@lru_cache(maxsize=1 << 12)
def _name(word: str) -> _Name:
    if not _MNEMONIC.fullmatch(word):
        raise BlockError(f"an instruction begins with its mnemonic, not with {word[:40]!r}")
    name = _Name(word)
    if branch := _BRANCH.fullmatch(word):
        name = _Name(branch[1], is_branch=True, hint=_HINTS[branch[2]])
    if not is_mnemonic(name.mnemonic):
        near = difflib.get_close_matches(word, known_mnemonics(), 3)
        hint = f"; is it {' or '.join(near)}?" if near else ""
        raise BlockError(f"x86-64 has no instruction {word[:40]!r}{hint}")
    return name


def split_operands(text: str) -> list[str]:
    """The operands, split at commas outside brackets."""
    parts = text.split(",")
    if not _BRACKET.search(text) or all(map(_is_balanced, parts)):
        return parts
    parts = []
    depth = start = 0
    for position, character in enumerate(text):
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return parts


def _is_balanced(text: str) -> bool:
    """Whether each kind of brackets has equal numbers of opening and closing ones."""
    count = text.count
    return count("[") == count("]") and count("(") == count(")") and count("{") == count("}")


def _target(text: str, *, is_att: bool) -> TargetOperand | None:
    """A jump's target as a name or an address; None for a register or memory."""
    stripped = _REMARK.sub("", text.strip()).strip()
    if not is_att:
        stripped = _DISTANCE.sub("", stripped, count=1)
    if not stripped:
        raise BlockError("the target of the jump is missing")
    if place := _PLACE.fullmatch(stripped):
        address = place["address"]
        return TargetOperand(
            place["label"], int(address, 16) if address else None, int(place["offset"] or "0", 16)
        )
    if is_att and (stripped.startswith(("*", "%")) or "(%" in stripped):
        return None
    if not is_att and (
        "[" in stripped or stripped.lower() in registers() or " ptr " in f" {stripped.lower()} "
    ):
        return None
    return TargetOperand(stripped.removeprefix("$") if is_att else stripped)


def _operands(text: str, mnemonic: str, constants: dict[str, int], *, is_att: bool) -> list[Operand]:
    """The operands in Intel's order, without their decorations."""
    parts = []
    for part in split_operands(text) if text and not text.isspace() else ():
        bare = _DECORATION.sub("", part) if "{" in part else part
        if bare is part or bare.strip():  # a rounding stands between commas of its own
            parts.append(bare.strip())
    if is_att:
        operands = [att.read_operand(part.removeprefix("*"), constants) for part in parts]
        return att.in_order_of_intel(mnemonic, operands)
    return [intel.read_operand(part, constants) for part in parts]


class _Decorations(NamedTuple):
    """Decorations in braces: see `WrittenInstruction`; `broadcast`: 8 of {1to8}."""

    mask: RegisterValue = Register.NONE
    zeroing: bool = False
    rounding: str = ""
    broadcast: int = 0


_NONE = _Decorations()


def _decorations(text: str) -> _Decorations:
    """The EVEX decorations of an operand: mask, zeroing, broadcast, rounding."""
    if "{" not in text:
        return _NONE
    decorations = _NONE
    for decoration in _DECORATION.findall(text):
        name = decoration.strip().lower()
        if name == "z":
            decorations = decorations._replace(zeroing=True)
        elif name in ROUNDINGS:
            decorations = decorations._replace(rounding=name)
        elif copies := _BROADCAST.fullmatch(name):
            decorations = decorations._replace(broadcast=int(copies[1]))
        elif _MASK.fullmatch(name):
            decorations = decorations._replace(mask=registers()[name.removeprefix("%")])
        else:
            raise BlockError(
                f"there is no decoration {{{name[:20]}}}: {{k1}}, {{z}}, {{1to8}}, {{rn-sae}} are some"
            )
    return decorations


def _with_mask_apart(operands: list[Operand], mask: RegisterValue) -> tuple[list[Operand], RegisterValue]:
    """The operands of a gather or scatter without a mask written as an operand, and the mask."""
    if not any(isinstance(operand, MemoryOperand) and is_vector(operand.index) for operand in operands):
        return operands, mask
    in_registers = [operand for operand in operands if isinstance(operand, RegisterOperand)]
    masks = [operand for operand in in_registers if is_mask(operand.register)]
    return [operand for operand in operands if operand not in masks], masks[-1].register if masks else mask

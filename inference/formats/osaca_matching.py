"""Which entry of an OSACA machine model an instruction scheme has: by mnemonic and classes of operands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from inference.formats.exported import NOTHING, ExportedScheme
from inference.formats.osaca_forms import forms_of
from inference.isa.scheme import Scheme
from inference.isa.targets import target_of

Operands = Sequence[Mapping[str, Any]]
_ANY = ("*", None)
_VECTORS = ("xmm", "ymm", "zmm")
_NO_GENERAL = (*_VECTORS, "mm", "k", "st")
_PARTS_OF_BYTES = ("[8h]", "[8a]", "[8b]")
"""Registers of a byte that only some encodings have: OSACA's forms mean all."""


@dataclass(frozen=True)
class SchemeForm:
    """A scheme with the names that OSACA looks it up by, the best first, and the classes of its operands."""

    scheme: Scheme
    names: tuple[str, ...]
    operands: tuple[Mapping[str, str], ...]


@cache
def scheme_forms(isa: str) -> tuple[SchemeForm, ...]:
    """The forms of all schemes that OSACA's forms can mean: without prefixes and decorations."""
    return tuple(_forms(target_of(isa).schemes.schemes(), isa))


def _forms(schemes: Iterable[Scheme], isa: str) -> Iterator[SchemeForm]:
    for scheme in schemes:
        if "{" in scheme.text or any(part in scheme.text for part in _PARTS_OF_BYTES):
            continue
        for form in forms_of(_as_exported(scheme), 0.0, isa=isa):
            names = tuple(dict.fromkeys((form.suffixed, form.mnemonic, scheme.mnemonic)))
            yield SchemeForm(scheme, names, tuple(map(_read, form.operands)))


def _as_exported(scheme: Scheme) -> ExportedScheme:
    operands = [operand.as_json() for operand in scheme.operands]
    told = (scheme.text, scheme.mnemonic, operands, scheme.extension, scheme.category)
    return ExportedScheme(*told, (), 0.0, NOTHING)


def _read(written: str) -> dict[str, str]:
    """`class: register, name: gpr` as an object."""
    parts = (part.partition(": ") for part in written.removeprefix("fixed ").split(", "))
    return {key: value.strip("'") for key, _, value in parts}


def fits(pattern: Operands, operands: Operands) -> bool:
    """Whether an entry is for these operands."""
    return len(pattern) == len(operands) and all(map(_fits_one, pattern, operands))


def indexed(pattern: Operands) -> bool:
    """Whether an entry is for memory with an index, which schemes do not tell apart."""
    return any(one.get("class") == "memory" and one.get("index") not in (*_ANY, *_VECTORS) for one in pattern)


def described(pattern: Operands) -> str:
    """The operands of an entry in a few words, for messages."""
    return ", ".join(_word(one) for one in pattern)


def _word(one: Mapping[str, Any]) -> str:
    kind = str(one.get("class"))
    if kind == "register":
        return str(one.get("name") or f"{one.get('prefix', '')}{_shape(one)}" or kind)
    return {"memory": "mem", "immediate": "imm"}.get(kind, kind)[:20]


def _shape(one: Mapping[str, Any]) -> str:
    return f".{one['shape']}" if one.get("shape") else ""


def _fits_one(pattern: Mapping[str, Any], operand: Mapping[str, Any]) -> bool:
    kind = operand["class"]
    if pattern.get("class") != kind or pattern.get("mask"):
        return False
    if kind == "register":
        return _fits_register(pattern, operand)
    if kind == "memory":
        index = pattern.get("index")
        wanted = operand["index"] if operand["index"] in _VECTORS else None
        return (index if index in _VECTORS else None) == wanted and _fits_writeback(pattern, operand)
    if kind == "immediate":
        return pattern.get("imd") in ("int", *_ANY)
    return pattern.get("ccode") in _ANY


def _fits_register(pattern: Mapping[str, Any], operand: Mapping[str, Any]) -> bool:
    if "prefix" in operand:
        shape = pattern.get("shape") or "*"
        prefix_fits = pattern.get("prefix") in ("*", operand["prefix"])
        return prefix_fits and str(shape).lower() in ("*", operand.get("shape", "*"))
    name, meant = str(pattern.get("name", "*")).lower(), operand["name"]
    if name == "gpr":
        return meant not in _NO_GENERAL
    return name in ("*", meant)


def _fits_writeback(pattern: Mapping[str, Any], operand: Mapping[str, Any]) -> bool:
    for key in ("pre_indexed", "post_indexed"):
        wanted = pattern.get(key)
        if wanted not in _ANY and bool(wanted) != (operand.get(key, "false") == "true"):
            return False
    return True

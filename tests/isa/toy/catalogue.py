"""The schemes of the toy instruction set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from inference.isa.scheme import Operand, Scheme

probes: Collection[str] = ()
divisions: Collection[str] = ()
preferred: Sequence[str] = ()
equivalent_schemes: Mapping[str, tuple[str, ...]] = {}


def schemes() -> Sequence[Scheme]:
    return [
        Scheme(
            text=f"{mnemonic} GPR[8]:RW",
            mnemonic=mnemonic,
            operands=(Operand("register", "GPR[8]", "RW", 8),),
            extension="BASE",
            category="arithmetic",
            encoding="",
            memory="",
            width=8,
            exclusion="",
            starter=True,
        )
        for mnemonic in ("inc", "neg")
    ]


def scheme_of(text: str) -> Scheme | None:
    return next((scheme for scheme in schemes() if scheme.text == text), None)


def version() -> str:
    return "toy 1"


def source() -> str:
    return version()


def flag(extension: str) -> str:
    return "" if extension == "BASE" else extension.lower()


def missing_feature(scheme: Scheme, flags: Collection[str]) -> str:
    del scheme, flags
    return ""


def core_of(facts: Mapping[str, Any]) -> None:
    del facts


def same_work(text: str) -> tuple[str, ...]:
    return (text,)

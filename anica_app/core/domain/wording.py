"""Abstract blocks and expansions as text: phrases for instructions, sentences for constraints between them.

Assembly names are in backticks, which pages turn into code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from anica_app.core.domain import documents
from anica_app.core.domain.abstract import AliasExpansion, DependencyExpansion, Pair, Values
from anica_app.core.domain.abstractions import AND, FOR, UP
from anica_app.core.domain.features import (
    ACCESS_WIDTH,
    AT_LEAST,
    AT_MOST,
    MEMORY_OPERAND,
    SIZE,
    SOME_FLAG,
    YES,
    Vocabulary,
    full_vocabulary,
)
from anica_app.core.domain.space import Dependency, operands_of
from inference.core.protocols import Json
from inference.core.texts import count_of
from inference.isa.operand_slots import OperandPlace
from inference.isa.targets import names_with_operands

ANY_INSTRUCTION = "any instruction"

_ACCESSES = {"R": "reads", "W": "writes", "RW": "reads and writes"}
_NEEDS = {"R": "read", "W": "write", "RW": "read and write"}
_WIDTHS = {SIZE: "", AT_LEAST: "at least ", AT_MOST: "at most "}
_ANY = {
    "isa-set": "any instruction set",
    "lock": "with or without a `lock` prefix",
    "rep": "with or without a `rep` prefix",
    "memory": "any use of memory, or none",
    "operands": "any operands, or none",
    "uops": "any number of µops",
}


@dataclass(frozen=True)
class BlockWording:
    """An abstract block as text.

    It has phrases for each instruction, a sentence per constraint on operands, and one per dependency.
    """

    instructions: tuple[tuple[str, ...], ...]
    aliasing: tuple[str, ...]
    dependencies: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Constraints on operands, then dependencies."""
        return (*self.aliasing, *self.dependencies)

    @property
    def line(self) -> str:
        """The whole text on one line, without backticks."""
        instructions = [", ".join(phrases) for phrases in self.instructions]
        return "; ".join([" | ".join(instructions), *self.sentences]).replace("`", "")


def block_wording(document: Json) -> BlockWording:
    """The text of an abstract block's document (`documents`). Raises `AnicaError` for an invalid one."""
    vocabulary = full_vocabulary()
    abstract = documents.parse_block(document, vocabulary)
    pairs = sorted(abstract.aliasing.pairs, key=lambda constraint: not constraint[1])
    return BlockWording(
        tuple(tuple(_instruction(instruction.values, vocabulary)) for instruction in abstract.instructions),
        tuple(pair_sentence(operands, must_alias) for operands, must_alias in pairs),
        tuple(dependency_sentence(link) for link in sorted(abstract.dependencies)),
    )


@cache
def flags_of_all_sets() -> frozenset[str]:
    """The names of flags, of which no operand of another instruction set has one."""
    return frozenset(flag for isa in names_with_operands() for flag in operands_of(isa).names.flags)


def expansion_wording(document: Json) -> str:
    """The text of an expansion's document: what it allows. Raises `AnicaError` for an invalid one."""
    vocabulary = full_vocabulary()
    flags = flags_of_all_sets()
    expansion = documents.parse_expansion(document, vocabulary)
    if isinstance(expansion, AliasExpansion):
        first, second = map(_place, expansion.pair)
        return f"{first} and {second} may be the same or differ"
    if isinstance(expansion, DependencyExpansion):
        return dependency_sentence(expansion.dependency, "need not read")
    where = f"instruction {expansion.instruction + 1}"
    if expansion.step != UP:
        element, _, weaker = expansion.step.partition(FOR)
        needs = [_needed_text(expansion.feature, part, flags) for part in weaker.split(AND)] if weaker else []
        exception = f", but must {' and '.join(needs)}" if needs else ""
        return f"{where} need not {_needed_text(expansion.feature, element, flags)}{exception}"
    if expansion.value is None:
        return f"{where}: {_ANY.get(expansion.feature, f'any {expansion.feature}')}"
    return f"{where}: {', '.join(feature_phrases(expansion.feature, expansion.value, flags))}"


def _instruction(values: Values, vocabulary: Vocabulary) -> list[str]:
    """The constraints of an abstract instruction; `ANY_INSTRUCTION` without any."""
    constraints = zip(vocabulary.names, values, strict=True)
    flags = flags_of_all_sets()
    stated = [(name, value) for name, value in constraints if value is not None]
    phrases = [phrase for name, value in stated for phrase in feature_phrases(name, value, flags)]
    return phrases or [ANY_INSTRUCTION]


def feature_phrases(name: str, value: Any, flags: Collection[str]) -> list[str]:
    """The phrases for a feature's value other than ⊤."""
    if name == "operands":
        return _operands(value, flags)
    if name in _PHRASES:
        return [_PHRASES[name](value)]
    if name in ("lock", "rep"):
        return [f"{'with' if value == (YES,) else 'without'} a `{name}` prefix"]
    return [f"{'instruction set' if name == 'isa-set' else name} {_any_of(value)}"]


def pair_sentence(operands: Pair, must_alias: bool) -> str:
    """Whether two operands must be the same or must differ."""
    return f"{_place(operands[0])} {'is the same as' if must_alias else 'differs from'} {_place(operands[1])}"


def dependency_sentence(link: Dependency, reads: str = "reads") -> str:
    """The two instructions of a dependency and what is passed between them."""
    return f"instruction {link.reader + 1} {reads} a {link.kind} that instruction {link.writer + 1} writes"


def _needed_text(name: str, element: str, flags: Collection[str]) -> str:
    if name == "memory":
        width = f"access {_bits([element]) or f'`{element}`'} of memory"
        return {"R": "read memory", "W": "write memory"}.get(element, width)
    if element == SOME_FLAG:
        return "read some flag"
    operand, _, access = element.partition(":")
    if operand in flags:
        return f"{_NEEDS.get(access, 'use')} the flag {operand}"
    return f"have {_operand(element, 'an operand')}"


def _place(place: OperandPlace) -> str:
    number = f" {place.number + 1}" if place.kind == "register" or place.number else ""
    return f"{place.kind} operand{number} of instruction {place.instruction + 1}"


def _memory(value: Any) -> str:
    if isinstance(value, str):
        return "does not access memory"
    access = _ACCESSES.get("".join(letter for letter in ("R", "W") if letter in value), "accesses")
    bits = _bits(value)
    return f"{access} {bits} of memory" if bits else f"{access} memory"


def _bits(elements: Iterable[str]) -> str:
    """`64 bits`, `at least 16 and at most 64 bits`; "" without a constraint on the width."""
    widths: dict[str, list[int]] = {word: [] for word in _WIDTHS}
    for element in elements:
        if width := ACCESS_WIDTH.fullmatch(element):
            widths[f"size{width[1]}"].append(int(width[2]))
    if widths[AT_LEAST] == widths[AT_MOST]:
        widths = {SIZE: widths[SIZE] + widths[AT_LEAST]}
    phrases = [f"{_WIDTHS[word]}{size}" for word, sizes in widths.items() for size in sorted(sizes)]
    return f"{_any_of(phrases, 'and')} bits" if phrases else ""


def _operands(value: Any, names_of_flags: Collection[str]) -> list[str]:
    """Phrases for the constraint on operands, flags of one access in one phrase."""
    if isinstance(value, str):
        return ["no operands, not even implicit ones"]
    if not value:
        return ["some operand"]
    flags: dict[str, list[str]] = {}
    phrases = []
    for element in sorted(value):
        name, _, access = element.partition(":")
        if element == SOME_FLAG:
            phrases.append("reads some flag")
        elif name in names_of_flags:
            flags.setdefault(_ACCESSES.get(access, "uses"), []).append(name)
        else:
            phrases.append(_operand(element, "operand"))
    return phrases + [
        f"{verb} the flag{'s' * (len(names) > 1)} {', '.join(names)}" for verb, names in flags.items()
    ]


def _operand(element: str, noun: str) -> str:
    """`operand `GPR[64]:R``; of memory, whose width has a bound, `operand `MEM:W` of at most 64 bits`."""
    match = MEMORY_OPERAND.fullmatch(element)
    if match is None or not match[1]:
        return f"{noun} `{element}`"
    return f"{noun} `MEM:{match[3]}` of {_WIDTHS['size' + match[1]]}{match[2]} bits"


def _mnemonic(value: Any) -> str:
    base, edits = value
    return f"mnemonic within {count_of(edits, 'edit')} of `{base}`" if edits else f"mnemonic `{base}`"


def _uops(value: Any) -> str:
    return f"fewer than {2**value} µops" if value else "no µops"


def _scheme(value: Any) -> str:
    return _any_of(f"`{text}`" for text in value)


def _any_of(words: Iterable[str], last: str = "or") -> str:
    *beginning, end = [*words] or [""]
    return f"{', '.join(beginning)} {last} {end}" if beginning else end


_PHRASES: dict[str, Callable[[Any], str]] = {
    "mnemonic": _mnemonic,
    "memory": _memory,
    "uops": _uops,
    "scheme": _scheme,
}

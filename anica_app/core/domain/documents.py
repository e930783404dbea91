"""Abstract blocks and expansions as JSON, for people and other programs.

Unconstrained parts (⊤) are left out, and instructions and operands are counted from 1:

    {"instructions": [{"mnemonic": {"base": "add", "edits": 2}, "memory": ["W"]}, {}],
     "aliasing": [["1.memory.1", "2.memory.1", "same"], ["1.register.1", "2.register.2", "different"]],
     "dependencies": [[1, 2, "flag"]]}

Values of features: `mnemonic` a base and a number of edits, `uops` {"fewer_than": a power of two}, `memory`
and `operands` a list of elements that must be present, or "none"; all others a word, or a list of
alternatives. A dependency is the instruction that writes, the one that reads, and "flag" or "register".

An expansion is {"instruction": 1, "feature": "operands", "drop": "GPR[64]:RW", "to": [...]}, without `drop`
for a value with a single successor and without `to` for ⊤; {"aliasing": [first, second]}; or {"dependency":
[1, 2, "flag"]}. With "for" a weaker element replaces the dropped one: "drop": "size:8", "for": "size<=64".
"""

from __future__ import annotations

import re
from typing import Any

from anica_app.core.domain.abstract import (
    AbstractBlock,
    AbstractInstruction,
    AliasExpansion,
    Aliasing,
    DependencyExpansion,
    Expansion,
    FeatureExpansion,
    Pair,
)
from anica_app.core.domain.abstractions import FOR, UP
from anica_app.core.domain.features import Vocabulary
from anica_app.core.domain.space import Dependency
from anica_app.core.errors import AnicaError
from inference.core.protocols import Json
from inference.isa.operand_slots import Kind, OperandPlace

MAX_INSTRUCTIONS = 100  # of an abstract block
MAX_PAIRS = 20_000  # of operands that alias or must not

_PLACE = re.compile(r"([1-9]\d{0,3})\.(register|memory)\.([1-9]\d{0,2})")
"""An operand: instruction, kind of operand, number among these, as in `2.register.1`."""

_SAME, _DIFFERENT = "same", "different"


def block_document(abstract: AbstractBlock, vocabulary: Vocabulary) -> dict[str, Any]:
    """An abstract block as JSON; without the key `dependencies` where there are none."""
    block: dict[str, Any] = {
        "instructions": [_instruction(instruction, vocabulary) for instruction in abstract.instructions],
        "aliasing": [
            [*map(place_name, pair), _SAME if must_alias else _DIFFERENT]
            for pair, must_alias in abstract.aliasing.pairs
        ],
    }
    if abstract.dependencies:
        block["dependencies"] = [*map(_dependency_document, sorted(abstract.dependencies))]
    return block


def parse_block(document: Json, vocabulary: Vocabulary) -> AbstractBlock:
    """The abstract block of a document, the inverse of `block_document`.

    Raises:
        AnicaError: The document is invalid; the message names the instruction and the feature.
    """
    instructions = document.get("instructions") if isinstance(document, dict) else None
    if not isinstance(instructions, list) or not 1 <= len(instructions) <= MAX_INSTRUCTIONS:
        raise AnicaError(
            f'an abstract block is an object with "instructions", a list of 1 to {MAX_INSTRUCTIONS}'
        )
    parsed = tuple(
        _read_instruction(entry, number, vocabulary) for number, entry in enumerate(instructions, 1)
    )
    return AbstractBlock(
        parsed,
        _read_aliasing(document.get("aliasing", []), len(instructions)),
        _read_dependencies(document.get("dependencies", []), len(instructions)),
    )


def expansion_document(expansion: Expansion, vocabulary: Vocabulary) -> dict[str, Any]:
    if isinstance(expansion, AliasExpansion):
        return {"aliasing": [place_name(place) for place in expansion.pair]}
    if isinstance(expansion, DependencyExpansion):
        return {"dependency": _dependency_document(expansion.dependency)}
    result: dict[str, Any] = {"instruction": expansion.instruction + 1, "feature": expansion.feature}
    if expansion.step != UP:
        result["drop"], _, weaker = expansion.step.partition(FOR)
        result |= {"for": weaker} if weaker else {}
    if expansion.value is not None:
        result["to"] = _abstraction(expansion.feature, vocabulary).document(expansion.value)
    return result


def parse_expansion(document: Json, vocabulary: Vocabulary) -> Expansion:
    """The expansion of a document, the inverse of `expansion_document`.

    Raises:
        AnicaError: The document is invalid.
    """
    match document:
        case {"aliasing": [str(first), str(second)]}:
            return AliasExpansion(_pair(first, second))
        case {"dependency": dependency}:
            return DependencyExpansion(_read_dependency(dependency, MAX_INSTRUCTIONS))
        case {"instruction": int(number), "feature": str(feature)} if 1 <= number <= MAX_INSTRUCTIONS:
            value = _abstraction(feature, vocabulary).read(document["to"]) if "to" in document else None
            return FeatureExpansion(number - 1, feature, _step(document), value)
    raise AnicaError(
        f'an expansion has "instruction" and "feature", or "aliasing", or "dependency", unlike {document!r}'
    )


def _step(document: Json) -> str:
    """The name of the step in an expansion of a feature. Raises `AnicaError`."""
    words = [document[name] for name in ("drop", "for") if name in document]
    if not all(isinstance(word, str) for word in words) or ("for" in document and "drop" not in document):
        raise AnicaError(f'"drop" is an element, and "for" what takes its place, unlike in {document!r}')
    return FOR.join(words) if words else UP


def expanded_document(document: Json, expansion: Json) -> Json:
    """The document of an abstract block after an expansion, computed from the documents without a domain."""
    if "aliasing" in expansion:
        pairs = [pair for pair in document.get("aliasing", []) if pair[:2] != expansion["aliasing"]]
        return {**document, "aliasing": pairs}
    if "dependency" in expansion:
        remaining = [link for link in document.get("dependencies", []) if link != expansion["dependency"]]
        return {**document, "dependencies": remaining} if remaining else _without(document, "dependencies")
    instructions = list(document["instructions"])
    place, feature = expansion["instruction"] - 1, expansion["feature"]
    instructions[place] = _without(instructions[place], feature)
    if "to" in expansion:
        instructions[place][feature] = expansion["to"]
    return {**document, "instructions": instructions}


def _without(document: Json, name: str) -> Json:
    return {key: value for key, value in document.items() if key != name}


def place_name(place: OperandPlace) -> str:
    """An operand's name in documents: `2.register.1`."""
    return f"{place.instruction + 1}.{place.kind}.{place.number + 1}"


def _instruction(instruction: AbstractInstruction, vocabulary: Vocabulary) -> dict[str, Any]:
    parts = zip(vocabulary.names, vocabulary.abstractions, instruction.values, strict=True)
    return {name: abstraction.document(value) for name, abstraction, value in parts if value is not None}


def _read_instruction(document: Any, number: int, vocabulary: Vocabulary) -> AbstractInstruction:
    """An instruction's constraints; features that are not mentioned are unconstrained.

    Raises:
        AnicaError: A feature is unknown, or its value invalid.
    """
    if not isinstance(document, dict):
        raise AnicaError(f"instruction {number} is an object of features, not {document!r}")
    if unknown := sorted(map(str, document.keys() - set(vocabulary.names))):
        names = ", ".join(vocabulary.names)
        raise AnicaError(f"instruction {number}: there is no feature {unknown[0]!r} here, only {names}")
    values = []
    for name, abstraction in zip(vocabulary.names, vocabulary.abstractions, strict=True):
        try:
            values.append(abstraction.read(document[name]) if name in document else None)
        except AnicaError as error:
            raise AnicaError(f"instruction {number}, {name}: {error}") from None
    return AbstractInstruction(tuple(values))


def _read_aliasing(document: Any, length: int) -> Aliasing:
    """The constraints on pairs of operands.

    Raises:
        AnicaError: A constraint is malformed, names an instruction that does not exist, or
            contradicts another.
    """
    if not isinstance(document, list) or len(document) > MAX_PAIRS:
        raise AnicaError(f'"aliasing" is a list of at most {MAX_PAIRS:,} pairs of operands')
    must: set[Pair] = set()
    must_not: set[Pair] = set()
    for constraint in document:
        match constraint:
            case [str(left), str(right), "same" | "different" as word]:
                pair = _pair(left, right)
            case _:
                raise AnicaError(
                    f'"aliasing" has lists such as ["1.register.1", "2.memory.1", "{_SAME}" or '
                    f'"{_DIFFERENT}"], not {constraint!r}'
                )
        if max(place.instruction for place in pair) >= length:
            raise AnicaError(f'"aliasing" names an instruction beyond the last one, {length}: {constraint!r}')
        (must if word == _SAME else must_not).add(pair)
    if both := must & must_not:
        names = " and ".join(map(place_name, min(both)))
        raise AnicaError(f'"aliasing": {names} cannot be both {_SAME} and {_DIFFERENT}')
    return Aliasing(frozenset(must), frozenset(must_not))


def _dependency_document(dependency: Dependency) -> list[Any]:
    return [dependency.writer + 1, dependency.reader + 1, dependency.kind]


def _read_dependencies(document: Any, length: int) -> frozenset[Dependency]:
    if not isinstance(document, list) or len(document) > MAX_PAIRS:
        raise AnicaError(f'"dependencies" is a list of at most {MAX_PAIRS:,} dependencies')
    return frozenset(_read_dependency(dependency, length) for dependency in document)


def _read_dependency(document: Any, length: int) -> Dependency:
    match document:
        case [int(writer), int(reader), "flag" | "register" as kind]:
            if writer != reader and 1 <= min(writer, reader) <= max(writer, reader) <= length:
                return Dependency(writer - 1, reader - 1, kind)
            raise AnicaError(f"a dependency is between two instructions, 1 to {length}, unlike {document!r}")
    raise AnicaError(f'a dependency is a list such as [1, 2, "flag"] or [2, 1, "register"], not {document!r}')


def _pair(first: str, second: str) -> Pair:
    left, right = sorted((_place(first), _place(second)))
    if left == right:
        raise AnicaError(f"an operand is always itself: {first} is named twice")
    return left, right


def _place(name: str) -> OperandPlace:
    match = _PLACE.fullmatch(name)
    if match is None:
        raise AnicaError(f"operands are called like 1.register.2 or 3.memory.1, not {name!r}")
    kind: Kind = "register" if match[2] == "register" else "memory"
    return OperandPlace(int(match[1]) - 1, kind, int(match[3]) - 1)


def _abstraction(feature: str, vocabulary: Vocabulary) -> Any:
    if feature not in vocabulary.names:
        raise AnicaError(f"there is no feature {feature!r} here, only {', '.join(vocabulary.names)}")
    return vocabulary.abstractions[vocabulary.names.index(feature)]

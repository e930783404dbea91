"""Abstract blocks and expansions as JSON that people can read and other programs can write.

What is not constrained (⊤) is left out, and everything is counted from 1:

    {"instructions": [{"mnemonic": {"base": "add", "edits": 2}, "memory": ["W"]}, {}],
     "aliasing": [["1.memory.1", "2.memory.1", "same"], ["1.register.1", "2.register.2", "different"]],
     "dependencies": [[1, 2, "flag"]]}

Values of features: `mnemonic` a base and a number of edits, `uops` {"fewer_than": a power of two}, `memory`
and `operands` a list of what is there at least, or "none"; all others a word, or a list of words of which one
holds. A dependency names who writes, who reads that, and "flag" or "register".

An expansion is {"instruction": 1, "feature": "operands", "drop": "GPR[64]:RW", "to": [...]}, without `drop`
where there is but one way up and without `to` where that is ⊤; {"aliasing": [one, other]}; or {"dependency":
[1, 2, "flag"]}. With "for" a weaker element takes the place of the dropped one: "drop": "size:8", "for":
"size<=64".
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

MOST_INSTRUCTIONS = 100
MOST_PAIRS = 20_000

_PLACE = re.compile(r"([1-9]\d{0,3})\.(register|memory)\.([1-9]\d{0,2})")
_SAME, _DIFFERENT = "same", "different"


def document(abstract: AbstractBlock, vocabulary: Vocabulary) -> dict[str, Any]:
    """An abstract block as JSON; without `dependencies` where there are none."""
    found: dict[str, Any] = {
        "instructions": [_instruction(one, vocabulary) for one in abstract.instructions],
        "aliasing": [
            [*map(place_name, pair), _SAME if wanted else _DIFFERENT]
            for pair, wanted in abstract.aliasing.pairs
        ],
    }
    if abstract.dependencies:
        found["dependencies"] = [*map(_dependency_document, sorted(abstract.dependencies))]
    return found


def read(given: Json, vocabulary: Vocabulary) -> AbstractBlock:
    """Back from `document`. Raises `AnicaError` with what is wrong and where."""
    instructions = given.get("instructions") if isinstance(given, dict) else None
    if not isinstance(instructions, list) or not 1 <= len(instructions) <= MOST_INSTRUCTIONS:
        raise AnicaError(
            f'an abstract block is an object with "instructions", a list of 1 to {MOST_INSTRUCTIONS}'
        )
    read_ones = tuple(
        _read_instruction(one, number, vocabulary) for number, one in enumerate(instructions, 1)
    )
    return AbstractBlock(
        read_ones,
        _read_aliasing(given.get("aliasing", []), len(instructions)),
        _read_dependencies(given.get("dependencies", []), len(instructions)),
    )


def expansion_document(expansion: Expansion, vocabulary: Vocabulary) -> dict[str, Any]:
    if isinstance(expansion, AliasExpansion):
        return {"aliasing": [place_name(place) for place in expansion.pair]}
    if isinstance(expansion, DependencyExpansion):
        return {"dependency": _dependency_document(expansion.dependency)}
    found: dict[str, Any] = {"instruction": expansion.instruction + 1, "feature": expansion.feature}
    if expansion.step != UP:
        found["drop"], _, weaker = expansion.step.partition(FOR)
        found |= {"for": weaker} if weaker else {}
    if expansion.value is not None:
        found["to"] = _abstraction(expansion.feature, vocabulary).document(expansion.value)
    return found


def read_expansion(given: Json, vocabulary: Vocabulary) -> Expansion:
    """Back from `expansion_document`. Raises `AnicaError` with what is wrong."""
    match given:
        case {"aliasing": [str(one), str(other)]}:
            return AliasExpansion(_pair(one, other))
        case {"dependency": dependency}:
            return DependencyExpansion(_read_dependency(dependency, MOST_INSTRUCTIONS))
        case {"instruction": int(number), "feature": str(feature)} if 1 <= number <= MOST_INSTRUCTIONS:
            value = _abstraction(feature, vocabulary).read(given["to"]) if "to" in given else None
            return FeatureExpansion(number - 1, feature, _step(given), value)
    raise AnicaError(
        f'an expansion has "instruction" and "feature", or "aliasing", or "dependency", unlike {given!r}'
    )


def _step(given: Json) -> str:
    """The step of an expansion of a feature. Raises `AnicaError`."""
    words = [given[name] for name in ("drop", "for") if name in given]
    if not all(isinstance(word, str) for word in words) or ("for" in given and "drop" not in given):
        raise AnicaError(f'"drop" is an element, and "for" what takes its place, unlike in {given!r}')
    return FOR.join(words) if words else UP


def expanded(given: Json, expansion: Json) -> Json:
    """The document of an abstract block after an expansion, from their documents alone."""
    if "aliasing" in expansion:
        pairs = [pair for pair in given.get("aliasing", []) if pair[:2] != expansion["aliasing"]]
        return {**given, "aliasing": pairs}
    if "dependency" in expansion:
        left = [one for one in given.get("dependencies", []) if one != expansion["dependency"]]
        return {**given, "dependencies": left} if left else _without(given, "dependencies")
    instructions = list(given["instructions"])
    place, feature = expansion["instruction"] - 1, expansion["feature"]
    instructions[place] = _without(instructions[place], feature)
    if "to" in expansion:
        instructions[place][feature] = expansion["to"]
    return {**given, "instructions": instructions}


def _without(given: Json, name: str) -> Json:
    return {one: value for one, value in given.items() if one != name}


def place_name(place: OperandPlace) -> str:
    """An operand as documents call it: `2.register.1`."""
    return f"{place.instruction + 1}.{place.kind}.{place.number + 1}"


def _instruction(instruction: AbstractInstruction, vocabulary: Vocabulary) -> dict[str, Any]:
    parts = zip(vocabulary.names, vocabulary.abstractions, instruction.values, strict=True)
    return {name: each.document(value) for name, each, value in parts if value is not None}


def _read_instruction(given: Any, number: int, vocabulary: Vocabulary) -> AbstractInstruction:
    if not isinstance(given, dict):
        raise AnicaError(f"instruction {number} is an object of features, not {given!r}")
    if unknown := sorted(map(str, given.keys() - set(vocabulary.names))):
        known = ", ".join(vocabulary.names)
        raise AnicaError(f"instruction {number}: there is no feature {unknown[0]!r} here, only {known}")
    values = []
    for name, each in zip(vocabulary.names, vocabulary.abstractions, strict=True):
        try:
            values.append(each.read(given[name]) if name in given else None)
        except AnicaError as error:
            raise AnicaError(f"instruction {number}, {name}: {error}") from None
    return AbstractInstruction(tuple(values))


def _read_aliasing(given: Any, length: int) -> Aliasing:
    if not isinstance(given, list) or len(given) > MOST_PAIRS:
        raise AnicaError(f'"aliasing" is a list of at most {MOST_PAIRS:,} pairs of operands')
    must: set[Pair] = set()
    must_not: set[Pair] = set()
    for one in given:
        match one:
            case [str(left), str(right), "same" | "different" as word]:
                pair = _pair(left, right)
            case _:
                raise AnicaError(
                    f'"aliasing" has lists such as ["1.register.1", "2.memory.1", "{_SAME}" or '
                    f'"{_DIFFERENT}"], not {one!r}'
                )
        if max(place.instruction for place in pair) >= length:
            raise AnicaError(f'"aliasing" speaks of an instruction beyond the last one, {length}: {one!r}')
        (must if word == _SAME else must_not).add(pair)
    if both := must & must_not:
        names = " and ".join(map(place_name, min(both)))
        raise AnicaError(f'"aliasing": {names} cannot be both {_SAME} and {_DIFFERENT}')
    return Aliasing(frozenset(must), frozenset(must_not))


def _dependency_document(one: Dependency) -> list[Any]:
    return [one.writer + 1, one.reader + 1, one.kind]


def _read_dependencies(given: Any, length: int) -> frozenset[Dependency]:
    if not isinstance(given, list) or len(given) > MOST_PAIRS:
        raise AnicaError(f'"dependencies" is a list of at most {MOST_PAIRS:,} dependencies')
    return frozenset(_read_dependency(one, length) for one in given)


def _read_dependency(given: Any, length: int) -> Dependency:
    match given:
        case [int(writer), int(reader), "flag" | "register" as kind]:
            if writer != reader and 1 <= min(writer, reader) <= max(writer, reader) <= length:
                return Dependency(writer - 1, reader - 1, kind)
            raise AnicaError(f"a dependency is between two instructions from 1 to {length}, unlike {given!r}")
    raise AnicaError(f'a dependency is a list such as [1, 2, "flag"] or [2, 1, "register"], not {given!r}')


def _pair(one: str, other: str) -> Pair:
    left, right = sorted((_place(one), _place(other)))
    if left == right:
        raise AnicaError(f"an operand is always itself: {one} is named twice")
    return left, right


def _place(name: str) -> OperandPlace:
    found = _PLACE.fullmatch(name)
    if found is None:
        raise AnicaError(f"operands are called like 1.register.2 or 3.memory.1, not {name!r}")
    kind: Kind = "register" if found[2] == "register" else "memory"
    return OperandPlace(int(found[1]) - 1, kind, int(found[3]) - 1)


def _abstraction(feature: str, vocabulary: Vocabulary) -> Any:
    if feature not in vocabulary.names:
        raise AnicaError(f"there is no feature {feature!r} here, only {', '.join(vocabulary.names)}")
    return vocabulary.abstractions[vocabulary.names.index(feature)]

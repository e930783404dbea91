"""Translates abstract blocks and expansions of the published AnICA to our documents
(`core.domain.documents`).

    theirs  {"abs_insns": [{"mnemonic": {"top": false, "base": "add", "curr_dist": 2, "max_dist": 3}, …}],
             "abs_aliasing": {"aliasing_dict": [[[[0, [kind, "reg0"]], [1, [kind, "mem0"]]], true]], …}}
    ours    {"instructions": [{"mnemonic": {"base": "add", "edits": 2}}],
             "aliasing": [["1.register.1", "2.memory.1", "same"]]}

Their operands are named by kind and number (reg0, mem1), counted like ours. `NotTranslatable` is raised where
our documents have no equivalent; the original is stored as well, so that nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from anica_app.core.domain.features import SIZE
from anica_app.formats import anica_words
from inference.core.protocols import Json

TOP = "$SV:TOP"
EXPLICIT = "$OperandKind:1"

_OPERANDS = "opschemes"
_SCHEME = "$InsnScheme:"
_PLACE = re.compile(r"(reg|mem)([0-9]{1,2})")
_KINDS = {"reg": "register", "mem": "memory"}
_MAX_BOUND = 10  # of edits and of binary digits that documents may have


class NotTranslatable(Exception):  # noqa: N818 it is no error of anybody
    """Our documents have no equivalent."""


def abstract_document(theirs: Json) -> Json:
    """Translate an abstract block. Raises `NotTranslatable`."""
    aliasing = theirs["abs_aliasing"]
    if aliasing.get("is_bot"):
        raise NotTranslatable("an abstract block that no block belongs to")
    pairs = []
    for entry in aliasing["aliasing_dict"]:
        match entry:
            case [[first, second], True | False as same]:
                pairs.append([*_pair(first, second), "same" if same else "different"])
            case [_, "$SV:TOP"]:
                continue
            case _:
                raise NotTranslatable(f"aliasing {entry!r}")
    return {
        "instructions": [_instruction(instruction) for instruction in theirs["abs_insns"]],
        "aliasing": sorted(pairs),
    }


def expansion_document(theirs: list[Any], start: Json, before: Json | None) -> Json:
    """Translate an expansion. Raises `NotTranslatable`.

    Args:
        theirs: The expansion as written.
        start: Their abstract block that the generalisation began with.
        before: Our document of the block that is expanded, from which the resulting feature is computed; None
            where it is not translatable.
    """
    match theirs:
        case [1, [[first, second], _]]:
            return {"aliasing": _pair(first, second)}
        case [0, int(number), [str(feature), value]]:
            return _feature_expansion(number, feature, value, start["abs_insns"][number], before)
    raise NotTranslatable(f"expansion {theirs!r}")


def _instruction(theirs: Mapping[str, Any]) -> Json:
    ours: Json = {}
    for feature, value in theirs.items():
        if feature == _OPERANDS:
            continue  # which operand is meant may depend on the use of memory
        name, convert = _feature(feature)
        word = convert(value)
        if word is not None:
            ours[name] = word
    operands = _operands(theirs.get("opschemes", TOP), _width(ours))
    return ours if operands is None else {**ours, "operands": operands}


def _width(instruction: Mapping[str, Any]) -> str:
    """Width in bits of the memory that an instruction accesses, "" where there is not exactly one."""
    uses = instruction.get("memory", [])
    sizes = [use.removeprefix(SIZE) for use in uses if use.startswith(SIZE)]
    return sizes[0] if len(sizes) == 1 else ""


def _feature(feature: str) -> tuple[str, Callable[[Any], Any]]:
    """(our name of a feature, translation of its values); ⊤ translates to None."""
    if feature.startswith("uops"):
        return "uops", _uops
    if feature not in _FEATURES:
        raise NotTranslatable(f"feature {feature!r}")
    return _FEATURES[feature]


def _feature_expansion(
    number: int, feature: str, value: Any, start: Mapping[str, Any], before: Json | None
) -> Json:
    """`start`: the instruction at the start of the generalisation, as written."""
    name = "operands" if feature == _OPERANDS else _feature(feature)[0]
    expansion: Json = {"instruction": number + 1, "feature": name}
    current = None if before is None else before["instructions"][number].get(name)
    if name in ("operands", "memory") and value != TOP:
        expansion["drop"] = dropped = _dropped_text(name, value, start)
        remaining = [item for item in current if item != dropped] if isinstance(current, list) else []
        # Of operands theirs knows "at least these" alone, so that none is no constraint; not so of memory.
        if isinstance(current, list) and (remaining or name == "memory"):
            expansion["to"] = remaining
    elif name == "mnemonic" and value != TOP:
        mnemonic = _mnemonic(_at_distance(start.get(feature), value))
        if mnemonic is not None:
            expansion["to"] = mnemonic
    elif name == "uops" and value != TOP:
        expansion["to"] = _uops({"val": value})
    return expansion


def _dropped_text(name: str, value: Any, start: Mapping[str, Any]) -> str:
    if name == "memory":
        return _translate_all([value], anica_words.memory, "use of memory")[0]
    uses = _memory(start.get("memory_usage", TOP))
    width = _width({} if uses is None else {"memory": uses})
    return _translate_all([value], partial(anica_words.operand, width=width), "operand")[0]


def _mnemonic(value: Any) -> Any:
    match value:
        case "$SV:TOP" | {"top": True}:
            return None
        case {"base": str(base), "curr_dist": int(edits), "max_dist": int(most)} if 0 <= most <= _MAX_BOUND:
            return {"base": base, "edits": edits} if edits <= most else None
    raise NotTranslatable(f"mnemonic {value!r}")


def _at_distance(value: Any, edits: Any) -> Any:
    """The mnemonic with this number of edits; ⊤ unchanged."""
    return {**value, "curr_dist": edits} if isinstance(value, dict) else value


def _uops(value: Any) -> Any:
    match value:
        case {"val": "$SV:TOP"} | "$SV:TOP":
            return None
        case {"val": int(bound)} if 0 <= bound <= _MAX_BOUND:
            return {"fewer_than": 2**bound}
    raise NotTranslatable(f"number of µops {value!r}")


def _operands(value: Any, width: str) -> Any:
    translate = partial(anica_words.operand, width=width)
    return None if value in (TOP, []) else _translate_all(value, translate, "operand")


def _memory(value: Any) -> Any:
    match value:
        case "$SV:TOP" | {"is_in_subfeature": "$SV:TOP"}:
            return None
        case {"is_in_subfeature": False}:
            return "none"
        case {"is_in_subfeature": True, "subfeature": list(parts)}:
            return _translate_all(parts, anica_words.memory, "use of memory")
    raise NotTranslatable(f"use of memory {value!r}")


def _translate_all(values: Any, translate: Callable[[str], str | None], label: str) -> list[str]:
    if not isinstance(values, list):
        raise NotTranslatable(f"{label} {values!r}")
    words = []
    for text in values:
        word = translate(text) if isinstance(text, str) else None
        if word is None:
            raise NotTranslatable(f"{label} {text!r}")
        words.append(word)
    return sorted(set(words))


def _scheme(value: Any) -> Any:
    if value == TOP:
        return None
    text = anica_words.scheme(value.removeprefix(_SCHEME)) if isinstance(value, str) else None
    if text is None:
        raise NotTranslatable(f"scheme {value!r}")
    return text


def _yes_or_no(value: Any) -> Any:
    if value == TOP:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    raise NotTranslatable(f"prefix {value!r}")


def _translation(vocabulary: anica_words.Words, label: str) -> Callable[[Any], Any]:
    def translate(value: Any) -> Any:
        if value == TOP:
            return None
        if not isinstance(value, str) or value not in vocabulary:
            raise NotTranslatable(f"{label} {value!r}")
        candidates = vocabulary[value]
        return candidates[0] if len(candidates) == 1 else sorted(candidates)

    return translate


_FEATURES: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "exact_scheme": ("scheme", _scheme),
    "mnemonic": ("mnemonic", _mnemonic),
    "memory_usage": ("memory", _memory),
    "category": ("category", _translation(anica_words.CATEGORIES, "category")),
    "extension": ("extension", _translation(anica_words.EXTENSIONS, "extension")),
    "isa-set": ("isa-set", _translation(anica_words.ISA_SETS, "instruction set")),
    "has_lock": ("lock", _yes_or_no),
    "has_rep": ("rep", _yes_or_no),
}


def _pair(first: Any, second: Any) -> list[str]:
    return sorted((_place(first), _place(second)))


def _place(theirs: Any) -> str:
    match theirs:
        case [int(number), [str(kind), str(name)]] if kind == EXPLICIT and 0 <= number < 100:
            if place := _PLACE.fullmatch(name):
                return f"{number + 1}.{_KINDS[place[1]]}.{int(place[2]) + 1}"
    raise NotTranslatable(f"operand {theirs!r}")

"""Messages that no peer of the agents' protocol sends, made from one that it does."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from inference.agent.protocol import MAX_MESSAGE_BYTES

Json = Any
Maker = Callable[[Json, random.Random], str | bytes]

_DEPTHS = (50, 500, 5_000, 200_000)
_OTHERS: tuple[Json, ...] = (
    *(None, True, -1, 0, 2**63, 2**64, -(2**70), 1.5, -1e308),
    *("", "x", "\ud800", "0", [], [[]], {}, {"a": 1}),
)
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 5000)


def _truncated(message: Json, drawn: random.Random) -> str:
    text = json.dumps(message)
    return text[: drawn.randrange(len(text))]


def _garbled(message: Json, drawn: random.Random) -> str:
    signs = list(json.dumps(message))
    for _ in range(drawn.randint(1, 8)):
        signs[drawn.randrange(len(signs))] = chr(drawn.randrange(drawn.choice((128, 0xD000))))
    return "".join(signs)


def _noise(_message: Json, drawn: random.Random) -> str:
    return "".join(chr(drawn.randrange(0x20, 0x3000)) for _ in range(drawn.randint(0, 200)))


def _binary(message: Json, drawn: random.Random) -> bytes:
    return drawn.choice((json.dumps(message).encode(), drawn.randbytes(drawn.randint(0, 300))))


def _of_another_type(message: Json, drawn: random.Random) -> str:
    changed = copy.deepcopy(message)
    for _ in range(drawn.randint(1, 3)):
        holder, key = drawn.choice(list(_places(changed)))
        holder[key] = drawn.choice(_OTHERS)
    return json.dumps(changed)


def _no_number(message: Json, drawn: random.Random) -> str:
    changed = copy.deepcopy(message)
    places = [(holder, key) for holder, key in _places(changed) if type(holder[key]) in {int, float}]
    holder, key = drawn.choice(places)
    holder[key] = "@@"
    return json.dumps(changed).replace('"@@"', drawn.choice(_NO_NUMBERS))


def _incomplete(message: Json, drawn: random.Random) -> str:
    changed = copy.deepcopy(message)
    holder, key = drawn.choice(list(_places(changed)))
    del holder[key]
    return json.dumps(changed)


def _with_more(message: Json, drawn: random.Random) -> str:
    changed = copy.deepcopy(message)
    inner = [value for value in _values(changed) if isinstance(value, dict) and value is not changed]
    drawn.choice(inner or [changed])["surplus"] = drawn.choice(_OTHERS)
    return json.dumps(changed)


def _same_key_twice(message: Json, drawn: random.Random) -> str:
    key = drawn.choice(sorted(message))
    return json.dumps(message)[:-1] + f", {json.dumps(key)}: {json.dumps(drawn.choice(_OTHERS))}}}"


def _nested(message: Json, drawn: random.Random) -> str:
    depth = drawn.choice(_DEPTHS)
    opening, closing = drawn.choice((("[", "]"), ('{"a":', "}")))
    deep = opening * depth + ("1" + closing * depth if drawn.random() < 0.7 else "")
    changed = copy.deepcopy(message)
    holder, key = drawn.choice(list(_places(changed)))
    holder[key] = "@@"
    return json.dumps(changed).replace('"@@"', deep)


def _too_large(message: Json, drawn: random.Random) -> str:
    return json.dumps(message) + " " * (MAX_MESSAGE_BYTES + drawn.randint(0, 1000))


def _large_text(message: Json, drawn: random.Random) -> str:
    changed = copy.deepcopy(message)
    holder, key = drawn.choice(list(_places(changed)))
    holder[key] = drawn.choice("x9[\0") * drawn.choice((5_000, 100_000, 1_000_000))
    return json.dumps(changed)


def _of_another_kind(message: Json, drawn: random.Random) -> str:
    kinds = ("hello", "welcome", "refused ", "batch", "beat", "results", "stored", "drop", "", "exec", "\0")
    return json.dumps(
        {**message, "type": drawn.choice([kind for kind in kinds if kind != message.get("type")])}
    )


MAKERS: dict[str, Maker] = {
    "truncated": _truncated,
    "garbled": _garbled,
    "noise": _noise,
    "binary": _binary,
    "wrong types": _of_another_type,
    "no numbers": _no_number,
    "fields missing": _incomplete,
    "fields too many": _with_more,
    "same key twice": _same_key_twice,
    "deeply nested": _nested,
    "too large": _too_large,
    "huge texts": _large_text,
    "wrong kind": _of_another_kind,
}
"""By name, each from a sound message; a few of what they make may be sound by chance."""

_HEAVY = {"too large": 0.1, "huge texts": 0.3, "deeply nested": 0.5}
"""How often those that take long to send come, beside the others."""


def draw(message: Json, drawn: random.Random) -> tuple[str, str | bytes]:
    """(name, a message of its kind)."""
    names = list(MAKERS)
    name = drawn.choices(names, [_HEAVY.get(one, 1.0) for one in names])[0]
    return name, MAKERS[name](message, drawn)


def _values(value: Json) -> Iterator[Json]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _values(inner)


def _places(message: Json) -> Iterator[tuple[Any, Any]]:
    """(object or list, key or index) of everything inside but the type: `wrong kind` looks after that."""
    for holder in _values(message):
        if isinstance(holder, dict):
            yield from ((holder, key) for key in holder if not (holder is message and key == "type"))
        elif isinstance(holder, list):
            yield from ((holder, index) for index in range(len(holder)))

"""JSON documents and messages that nobody should send, each made from a sound one."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks._text_mutations import NUMBERS, RARE, TEXTS, replaced_piece
from inference.agent.protocol import MAX_MESSAGE_BYTES

Json = Any
Change = Callable[[Any, Any, random.Random], str | None]
"""Changes what a holder (object or list) has at a place; returns what shall be written there as it is."""

_DEPTHS = (3, 50, 90, 300, 500, 940, 5_000, 200_000)
_OTHERS: tuple[Json, ...] = (
    *(None, True, -1, 0, 2**63, 2**64, -(2**70), 10**20, 1.5, -1e308),
    *("", "x", "\ud800", "0", [], [[]], [None], {}, {"a": 1}, {"a": {}}),
)
_KINDS = ("hello", "welcome", "refused ", "batch", "beat", "results", "stored", "drop", "", "exec", "\0")


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


def _same_key_twice(message: Json, drawn: random.Random) -> str:
    key = drawn.choice(sorted(message))
    return json.dumps(message)[:-1] + f", {json.dumps(key)}: {json.dumps(drawn.choice(_OTHERS))}}}"


def _too_large(message: Json, drawn: random.Random) -> str:
    return json.dumps(message) + " " * (MAX_MESSAGE_BYTES + drawn.randint(0, 1000))


def _of_another_kind(message: Json, drawn: random.Random) -> str:
    kinds = [kind for kind in _KINDS if kind != message.get("type")]
    return json.dumps({**message, "type": drawn.choice(kinds)})


def _spliced(message: Json, drawn: random.Random) -> str:
    """A part of the document in the place of another."""
    changed = copy.deepcopy(message)
    (holder, key), (source, place) = drawn.choices(list(_places(changed)), k=2)
    holder[key] = copy.deepcopy(source[place])
    return json.dumps(changed)


def _changed(change: Change, most: int) -> Callable[[Json, random.Random], str]:
    """What makes a document with changes in one to `most` places."""

    def made(message: Json, drawn: random.Random) -> str:
        changed, raw = copy.deepcopy(message), {}
        for number in range(drawn.randint(1, most)):
            if places := list(_places(changed)):
                holder, key = drawn.choice(places)
                if written := change(holder, key, drawn):
                    holder[key] = f"@@{number}"
                    raw[f'"@@{number}"'] = written
        text = json.dumps(changed)
        for mark, written in raw.items():
            text = text.replace(mark, written)
        return text

    return made


def _set_other(holder: Any, key: Any, drawn: random.Random) -> None:
    holder[key] = drawn.choice(_OTHERS)


def _set_text(holder: Any, key: Any, drawn: random.Random) -> None:
    holder[key] = drawn.choice(TEXTS)


def _set_large_text(holder: Any, key: Any, drawn: random.Random) -> None:
    holder[key] = drawn.choice("x9[\0") * drawn.choice((5_000, 100_000, 1_000_000))


def _set_number(_holder: Any, _key: Any, drawn: random.Random) -> str:
    return drawn.choice(NUMBERS)


def _set_nest(_holder: Any, _key: Any, drawn: random.Random) -> str:
    depth = drawn.choice(_DEPTHS)
    opening, closing = drawn.choice((("[", "]"), ('{"a":', "}")))
    return opening * depth + ("1" + closing * depth if drawn.random() < 0.7 else "")


def _remove(holder: Any, key: Any, _drawn: random.Random) -> None:
    del holder[key]


def _add(holder: Any, key: Any, drawn: random.Random) -> None:
    if isinstance(holder, dict):
        holder["surplus"] = drawn.choice(_OTHERS)
    else:
        holder.insert(key, drawn.choice(_OTHERS))


def _rename(holder: Any, key: Any, drawn: random.Random) -> None:
    if isinstance(holder, dict):
        holder[drawn.choice(TEXTS)] = holder.pop(key)


MAKERS: dict[str, Callable[[Json, random.Random], str | bytes]] = {
    "truncated": _truncated,
    "garbled": _garbled,
    "noise": _noise,
    "binary": _binary,
    "wrong types": _changed(_set_other, 3),
    "no numbers": _changed(_set_number, 2),
    "hostile texts": _changed(_set_text, 3),
    "fields missing": _changed(_remove, 1),
    "fields too many": _changed(_add, 1),
    "fields renamed": _changed(_rename, 1),
    "spliced": _spliced,
    "same key twice": _same_key_twice,
    "deeply nested": _changed(_set_nest, 1),
    "too large": _too_large,
    "huge texts": _changed(_set_large_text, 1),
    "wrong kind": _of_another_kind,
}
"""By name, each from a sound message; a few of what they make may be sound by chance."""

HEAVY = {"too large": 0.1, "huge texts": 0.3, "deeply nested": 0.5}
"""How often those that take long to send come, beside the others."""

_OF_MESSAGES = {"noise", "binary", "wrong kind"}
_OF_OBJECTS = {"same key twice"}
_OFTEN = {"hostile texts": 4.0, "no numbers": 2.0, "spliced": 4.0}
"""How often the likeliest to be read come in files, beside the others."""


def draw(message: Json, drawn: random.Random) -> tuple[str, str | bytes]:
    """(name, a message of its kind)."""
    name = drawn.choices(list(MAKERS), [HEAVY.get(name, 1.0) for name in MAKERS])[0]
    return name, MAKERS[name](message, drawn)


def mutated_json(content: bytes, drawn: random.Random) -> bytes:
    """A file made from one with a JSON document."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):  # it has been made hostile before
        return replaced_piece(content, drawn)
    if not list(_places(document)):
        return replaced_piece(content, drawn)
    names = MAKERS.keys() - _OF_MESSAGES - (set() if isinstance(document, dict) else _OF_OBJECTS)
    weights = {name: RARE if name in HEAVY else _OFTEN.get(name, 1.0) for name in sorted(names)}
    text = MAKERS[drawn.choices(list(weights), list(weights.values()))[0]](document, drawn)
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def _places(message: Json) -> Iterator[tuple[Any, Any]]:
    """(object or list, key or index) of everything inside but the type: `wrong kind` looks after that."""
    holders = [message]
    while holders:
        holder = holders.pop()
        if isinstance(holder, dict):
            yield from ((holder, key) for key in holder if not (holder is message and key == "type"))
            holders += holder.values()
        elif isinstance(holder, list):
            yield from ((holder, index) for index in range(len(holder)))
            holders += holder

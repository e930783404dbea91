"""JSON documents that nobody should send, each made from a sound one: hostile values, misplaced parts."""

from __future__ import annotations

import json
import random

from benchmarks import _nonsense
from benchmarks._text_mutations import HOSTILE_NUMBERS, HOSTILE_TEXTS, RARE, replaced_piece


def mutated_json(content: bytes, drawn: random.Random) -> bytes:
    try:
        return _of_message(content, json.loads(content), drawn)
    except (ValueError, RecursionError):  # it has been made hostile before
        return replaced_piece(content, drawn)


def _of_message(content: bytes, message: object, drawn: random.Random) -> bytes:
    if not list(_nonsense._places(message)):
        return replaced_piece(content, drawn)
    chance = drawn.random()
    if chance < RARE and isinstance(message, dict):
        text = _nonsense.MAKERS[drawn.choice(_HEAVY)](message, drawn)
    elif chance < 0.55:
        text = _hostile_values(message, drawn)
    elif chance < 0.75:
        text = _spliced(message, drawn)
    else:
        name = drawn.choice(_LIGHT)
        text = _nonsense.MAKERS[name](message, drawn) if isinstance(message, dict) else content.decode()
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


_LIGHT = ("truncated", "garbled", "wrong types", "fields missing", "fields too many", "same key twice")
_HEAVY = ("deeply nested", "huge texts", "too large")


def _hostile_values(message: object, drawn: random.Random) -> str:
    marks: dict[str, str] = {}
    for number in range(drawn.choice((1, 1, 1, 2, 4))):
        places = list(_nonsense._places(message))
        if not places:
            break
        holder, key = drawn.choice(places)
        choice = drawn.random()
        if choice < 0.4:
            holder[key] = drawn.choice(HOSTILE_TEXTS)
        elif choice < 0.6:
            holder[key] = f"@@{number}"
            marks[f'"@@{number}"'] = drawn.choice(HOSTILE_NUMBERS)
        elif choice < 0.75:
            holder[key] = drawn.choice(
                (None, True, False, 0, -1, 1.5, "x", [], {}, [[]], [None], {"a": {}}, 10**20)
            )
        elif choice < 0.85:
            deep = drawn.choice((3, 20, 90, 300, 900, drawn.randint(930, 1000)))
            holder[key] = f"@@{number}"
            marks[f'"@@{number}"'] = "[" * deep + "]" * deep
        elif isinstance(holder, dict):
            holder[drawn.choice(HOSTILE_TEXTS)] = holder.pop(key)
        else:
            holder.insert(key, drawn.choice((None, 1, "a", [], {})))
    text = json.dumps(message)
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text


def _spliced(message: object, drawn: random.Random) -> str:
    """A part of the document in the place of another."""
    for _ in range(drawn.choice((1, 1, 2))):
        places = list(_nonsense._places(message))
        if not places:
            break
        holder, key = drawn.choice(places)
        source, other = drawn.choice(places)
        holder[key] = json.loads(json.dumps(source[other]))
    return json.dumps(message)

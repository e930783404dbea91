"""The automaton of a regular expression (Glushkov's): a state for each place of a character in it.

Every way from one place to the next is an edge of its own, so two edges between the same places are two
readings. Anchors and lookarounds of one character determine the edges. Approximations: numbers of repetitions
above `MAX_COPIES`, references to groups (empty), the content of an atomic group (one place that reads any of
its characters) and lookbehind of more than one character (always true).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from operator import or_
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any


class PatternUse(StrEnum):
    MATCH = "match"
    FULL_MATCH = "fullmatch"
    SEARCH = "search"


MAX_COPIES = 6
"""Copies of a repeated part; more repetitions are approximated by as many."""

MIN_ENDLESS = 200
"""Repetitions from which on a part counts as repeated without end."""

MAX_PLACES = 1000
"""Places of a pattern that can be checked."""

_CHARACTERS = "\0\t\n\r\x1f -09afgzAFGZ_²é٣€\u2028"
r"""Representatives of the classes `\\w`, `\\d` and `\\s`, beside the characters that a pattern names."""

_ATOMIC = (_constants.ATOMIC_GROUP, _constants.POSSESSIVE_REPEAT)
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_SINGLE = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)
_START = 0  # the state before the first character


Condition = Callable[[str | None, str | None], bool]
"""Whether a zero-width place matches between two characters; None: where the text begins or ends."""


@dataclass(frozen=True)
class _Way:
    """A way to or from a place, by zero-width places."""

    place: int
    conditions: tuple[Condition, ...] = ()

    def by(self, conditions: tuple[Condition, ...]) -> _Way:
        return _Way(self.place, self.conditions + conditions) if conditions else self


@dataclass(frozen=True)
class _Part:
    """A part of a pattern: its first and last places, and the ways through it that read nothing."""

    first: tuple[_Way, ...] = ()
    last: tuple[_Way, ...] = ()
    empty: tuple[tuple[Condition, ...], ...] = ()


_NOTHING = _Part(empty=((),))


class Automaton:
    """Places are numbers, 0 the beginning of the text.

    `masks`: the characters that each place reads, as bits (`text_of` spells them). `edges`: the number of
    ways from a place to another. `after`: the places behind one. `atomic`: those that `re` does not return
    to. `safe`: those from which the pattern may end, whatever follows.
    """

    def __init__(self, pattern: Any, flags: int, use: PatternUse) -> None:
        self._state = pattern.state
        self._is_bytes = isinstance(pattern.state.str, bytes)
        self._characters = _representatives(pattern, self._is_bytes)
        self._classes = [self._mask(item, flags) for item in _contexts(pattern)]
        self.masks = [0]
        self.atomic: set[int] = set()
        self.edges: Counter[tuple[int, int]] = Counter()
        begin = _Part(last=(_Way(_START),))
        if use is PatternUse.SEARCH:
            skipped = self._repeat_part(lambda: self._read(self.all_characters), 0, MIN_ENDLESS)
            begin = self._join_parts(begin, skipped)
        complete = self._join_parts(begin, self._built(pattern, flags))
        self.after: dict[int, list[int]] = defaultdict(list)
        for before, after in self.edges:
            self.after[before].append(after)
        ends = {way.place for way in complete.last if not way.conditions}
        self.safe = ends if use is not PatternUse.FULL_MATCH else self._universal_ends(ends)

    @property
    def all_characters(self) -> int:
        return (1 << len(self._characters)) - 1

    def text_of(self, masks: Iterable[int]) -> str:
        """A text of characters of these masks, one each."""
        return "".join(self._characters[(mask & -mask).bit_length() - 1] for mask in masks)

    def _built(self, items: Iterable[Any], flags: int) -> _Part:
        return reduce(self._join_parts, (self._item(op, value, flags) for op, value in items), _NOTHING)

    def _item(self, op: Any, value: Any, flags: int) -> _Part:
        part = _NOTHING  # what a reference to a group is taken for
        if op in _SINGLE:
            part = self._read(self._mask((op, value), flags))
        elif op is _constants.BRANCH:
            part = _either([self._built(branch, flags) for branch in value[1]])
        elif op is _constants.SUBPATTERN:
            _, added, removed, body = value
            part = self._built(body, (flags | added) & ~removed)
        elif op in _REPEATS:
            low, high, body = value
            part = self._repeat_part(lambda: self._built(body, flags), low, high)
        elif op in _ATOMIC:
            part = self._without_backtracking(op, value, flags)
        elif op is _constants.AT:
            part = _Part(empty=((_anchor(value, flags),),))
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
            part = self._around(op, value[0], value[1], flags)
        elif op is _constants.GROUPREF_EXISTS:
            part = _either([self._built(branch, flags) for branch in value[1:] if branch])
        return part

    def _mask(self, item: tuple[Any, Any], flags: int) -> int:
        """The characters that an item of one character reads."""
        subpattern = _parser.SubPattern(self._state, [item])
        matches = _compiler.compile(subpattern, flags).fullmatch
        texts = [c.encode("latin-1") if self._is_bytes else c for c in self._characters]
        return sum(1 << bit for bit, text in enumerate(texts) if matches(text))

    def _read(self, mask: int) -> _Part:
        """One character; a place for each class that a zero-width place distinguishes."""
        pieces = [mask] if mask else []
        for other in self._classes:
            pieces = [part for piece in pieces for part in (piece & other, piece & ~other) if part]
        ways = tuple(_Way(len(self.masks) + number) for number in range(len(pieces)))
        self.masks.extend(pieces)
        if len(self.masks) > MAX_PLACES:
            raise re.error(f"it has more than {MAX_PLACES:,} places and cannot be checked for ambiguity")
        return _Part(ways, ways)

    def _join_parts(self, a: _Part, b: _Part) -> _Part:
        self._connect(a.last, b.first)
        return _Part(
            (*a.first, *(way.by(empty) for empty in a.empty for way in b.first)),
            (*b.last, *(way.by(empty) for empty in b.empty for way in a.last)),
            tuple(left + right for left in a.empty for right in b.empty)[:2],
        )

    def _connect(self, ends: Sequence[_Way], begins: Sequence[_Way]) -> None:
        for end in ends:
            before = self._sample(end.place)
            for begin in begins:
                after = self._sample(begin.place)
                if all(is_there(before, after) for is_there in end.conditions + begin.conditions):
                    self.edges[end.place, begin.place] += 1

    def _sample(self, place: int) -> str | None:
        return self.text_of([self.masks[place]]) if self.masks[place] else None

    def _repeat_part(self, build: Callable[[], _Part], low: int, high: int) -> _Part:
        copies = [build() for _ in range(min(low, MAX_COPIES) - (high >= MIN_ENDLESS and low > 0))]
        if high >= MIN_ENDLESS:
            loop = build()
            self._connect(loop.last, loop.first)
            tail = loop if low else _either([loop, _NOTHING])
        else:
            tail = _NOTHING
            for _ in range(min(high - min(low, high), MAX_COPIES)):
                tail = _either([self._join_parts(build(), tail), _NOTHING])
        return reduce(self._join_parts, [*copies, tail])

    def _without_backtracking(self, op: Any, value: Any, flags: int) -> _Part:
        """An atomic group: one place that reads what any of its characters does, repeatedly."""
        body = value if op is _constants.ATOMIC_GROUP else value[2]
        begin, edges = len(self.masks), self.edges.copy()
        inner = self._built(body, flags)
        mask = reduce(or_, self.masks[begin:], 0)
        del self.masks[begin:]
        self.edges = edges
        begin = len(self.masks)
        part = self._read(mask)
        self.atomic.update(range(begin, len(self.masks)))
        self._connect(part.last, part.first)
        can_be_empty = inner.empty or (op is _constants.POSSESSIVE_REPEAT and value[0] == 0)
        return _either([part, _NOTHING]) if can_be_empty else part

    def _around(self, op: Any, direction: int, body: Any, flags: int) -> _Part:
        """A lookaround: of one character a condition, otherwise ahead a way that leads no further."""
        if len(body) == 1 and body[0][0] in _SINGLE:
            mask, is_positive = self._mask(body[0], flags), op is _constants.ASSERT
            allowed = {c for bit, c in enumerate(self._characters) if mask >> bit & 1}
            if direction < 0:
                return _Part(empty=((lambda before, _after: (before in allowed) is is_positive,),))
            return _Part(empty=((lambda _before, after: (after in allowed) is is_positive,),))
        return _Part(self._built(body, flags).first, (), ((_maybe,),)) if direction > 0 else _NOTHING

    def _universal_ends(self, ends: set[int]) -> set[int]:
        """The ends from which every character leads to another of them, as in front of `.*`."""
        before: set[int] = set()
        while before != ends:
            before, ends = ends, {place for place in ends if self._reads(place, ends) == self.all_characters}
        return ends

    def _reads(self, place: int, targets: set[int]) -> int:
        return reduce(or_, (self.masks[after] for after in self.after[place] if after in targets), 0)


def atomic_bodies(pattern: Any) -> list[Any]:
    return [body for op, value in _items(pattern) if op in _ATOMIC for body in _subpatterns(value)]


def _either(parts: Sequence[_Part]) -> _Part:
    return _Part(
        tuple(way for part in parts for way in part.first),
        tuple(way for part in parts for way in part.last),
        tuple(empty for part in parts for empty in part.empty)[:2],
    )


def _maybe(_before: str | None, _after: str | None) -> bool:
    """A lookahead, which may hold or not, so that the pattern may fail there."""
    return True


def _anchor(code: Any, flags: int) -> Condition:
    lines = flags & re.MULTILINE
    if code is _constants.AT_BEGINNING:
        return lambda before, _after: before is None or (bool(lines) and before == "\n")
    if code is _constants.AT_BEGINNING_STRING:
        return lambda before, _after: before is None
    if code is _constants.AT_END:
        return lambda _before, after: after is None or after == "\n"
    if code is _constants.AT_END_STRING:
        return lambda _before, after: after is None
    is_between = code is _constants.AT_BOUNDARY
    return lambda before, after: (_is_word(before) != _is_word(after)) is is_between


def _is_word(character: str | None) -> bool:
    return character is not None and (character.isalnum() or character == "_")


def _items(pattern: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """All items of a parsed pattern, at any depth."""
    for op, value in pattern:
        yield op, value
        for inner in _subpatterns(value):
            yield from _items(inner)


def _subpatterns(value: Any) -> Iterator[Any]:
    if isinstance(value, _parser.SubPattern):
        yield value
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _subpatterns(entry)


def _contexts(pattern: Any) -> list[tuple[Any, Any]]:
    """Items of one character by which anchors and lookarounds distinguish adjacent characters."""
    items = list(_items(pattern))
    contexts = [
        (_constants.IN, [(_constants.CATEGORY, _constants.CATEGORY_WORD)]),
        (_constants.LITERAL, ord("\n")),
    ]
    around = [value[1] for op, value in items if op in (_constants.ASSERT, _constants.ASSERT_NOT)]
    contexts += [body[0] for body in around if len(body) == 1 and body[0][0] in _SINGLE]
    return contexts if around or any(op is _constants.AT for op, _ in items) else []


def _representatives(pattern: Any, is_bytes: bool) -> str:
    """Characters that represent all others: those that a pattern names, adjacent ones, and a few more."""
    codes = {ord(c) for c in _CHARACTERS}
    for op, value in _items(pattern):
        entries = value if op is _constants.IN else [(op, value)]
        for kind, entry in entries:
            if kind in (_constants.LITERAL, _constants.NOT_LITERAL):
                codes |= {entry, ord(chr(entry).swapcase()[:1])}
            elif kind is _constants.RANGE:
                low, high = entry
                codes |= {max(low - 1, 0), low, high, high + 1}
    limit = 0xFF if is_bytes else 0x10FFFF
    return "".join(map(chr, sorted(code for code in codes if code <= limit)))

"""The ambiguity of regular expressions: whether `re` can take far longer than in proportion to a text.

`re` tries one reading of a text after another, and holds the interpreter meanwhile. Weber and Seidl ("On the
degree of ambiguity of finite automata", 1991) characterise when the number of readings grows:

- exponentially, where a loop reads one text in two ways,
- as a power of the length, where one text leads from a loop back to it, on to a second loop, and from that
  back to it. A search begins at every position: a loop over any character in front of the pattern.

Only readings that fail cost time: a loop behind which the pattern may end is harmless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from re import _parser

from inference.predictors.pattern_automaton import Automaton, PatternUse, atomic_bodies

MAX_STEPS = 1_000_000  # places reached before an expression counts as ambiguous

Places = tuple[int, ...]
Regions = Sequence[frozenset[int]]


class Growth(StrEnum):
    """How the number of readings grows with the length of a text."""

    POLYNOMIAL = "polynomially"
    EXPONENTIAL = "exponentially"


@dataclass(frozen=True)
class Ambiguity:
    """Repetitions of `text` have ever more readings."""

    growth: Growth
    text: str

    def __str__(self) -> str:
        return f"the ways to read repetitions of {self.text!r} grow {self.growth}"


def ambiguity_of(
    pattern: str | bytes, flags: int = 0, use: PatternUse = PatternUse.FULL_MATCH
) -> Ambiguity | None:
    """The worst ambiguity of a pattern, None where its time is proportional to the length of the text.

    Raises:
        re.error: For an invalid pattern, and for one that is too large to be checked.
    """
    parsed = _parser.parse(pattern, flags)
    automata = [Automaton(parsed, parsed.state.flags, use)]
    automata += [Automaton(body, parsed.state.flags, PatternUse.FULL_MATCH) for body in atomic_bodies(parsed)]
    searches = [_Loops(automaton) for automaton in automata]
    for growth, text_of in (
        (Growth.EXPONENTIAL, _Loops.read_twice),
        (Growth.POLYNOMIAL, _Loops.read_in_turn),
    ):
        if text := next(filter(None, map(text_of, searches)), ""):
            return Ambiguity(growth, text)
    return None


class _Loops:
    """The loops of an automaton: its strongly connected components."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._reachable = [self._reachable_from(place) for place in range(len(automaton.masks))]

    @cached_property
    def _loops(self) -> list[frozenset[int]]:
        reachable = self._reachable
        loops = (
            frozenset(other for other in targets if place in reachable[other])
            for place, targets in enumerate(reachable)
            if place in targets
        )
        return list(dict.fromkeys(loops))

    @cached_property
    def _failing_states(self) -> list[frozenset[int]]:
        return [loop for loop in self._loops if not loop & self._automaton.safe]

    def _reachable_from(self, place: int) -> frozenset[int]:
        targets: set[int] = set()
        waiting = [place]
        while waiting:
            fresh = [after for after in self._automaton.after[waiting.pop()] if after not in targets]
            targets.update(fresh)
            waiting += fresh
        return frozenset(targets)

    def read_twice(self) -> str:
        """A text that a loop reads in two ways; empty for none."""
        return next(filter(None, map(self._read_twice, self._failing_states)), "")

    def _read_twice(self, loop: frozenset[int]) -> str:
        begins = {place: self._divergences(place, loop) for place in loop - self._automaton.atomic}
        together = {pair: mask for pairs in begins.values() for pair, mask in pairs.items()}
        regions = (loop, loop)
        if not any(p == q for p, q in together) and not self._path(
            together, regions, lambda at: at[0] == at[1]
        ):
            return ""
        texts = (self._path(pairs, regions, (place, place).__eq__) for place, pairs in begins.items())
        return next(filter(None, texts), "")

    def _divergences(self, place: int, loop: frozenset[int]) -> dict[Places, int]:
        """{pair of places that one character reaches in two ways: mask of these characters}."""
        automaton = self._automaton
        after = [p for p in automaton.after[place] if p in loop]
        masks = {(p, q): automaton.masks[p] & automaton.masks[q] for p in after for q in after if p < q}
        masks |= {(p, p): automaton.masks[p] for p in after if automaton.edges[place, p] > 1}
        return {pair: mask for pair, mask in masks.items() if mask}

    def read_in_turn(self) -> str:
        """A text that a loop reads, a second one, and the way from one to the other; empty for none."""
        for second in self._failing_states:
            for first in self._loops:
                reachable = self._reachable[min(first)]
                if first != second and second <= reachable:
                    between = frozenset(p for p in reachable if self._reachable[p] & second)
                    for p in first - self._automaton.atomic:
                        for q in second:
                            goal = (p, q, q)
                            if text := self._path({(p, p, q): 0}, (first, between, second), goal.__eq__):
                                return text
        return ""

    def _path(self, begins: dict[Places, int], regions: Regions, is_goal: Callable[[Places], bool]) -> str:
        """A text that leads from several places at once to a goal, each within its region; empty for none.

        `begins`: the characters by which they are reached, 0 for none.
        """
        origins: dict[Places, tuple[Places | None, int]] = {p: (None, mask) for p, mask in begins.items()}
        waiting = list(origins)
        for places, (_, mask) in origins.items():
            if mask and is_goal(places):
                return self._automaton.text_of([mask])
        for places in waiting:
            for after, mask in self._steps(places, regions):
                if is_goal(after):
                    return self._automaton.text_of([*_masks_to(places, origins), mask])
                if after not in origins:
                    origins[after] = (places, mask)
                    waiting.append(after)
            if len(waiting) > MAX_STEPS:
                raise re.error("it is too complicated to be checked for ambiguity")
        return ""

    def _steps(self, places: Places, regions: Regions) -> Iterator[tuple[Places, int]]:
        """The places that one character reaches from several places at once, and these characters' mask."""
        automaton = self._automaton
        ways: list[tuple[Places, int]] = [((), automaton.all_characters)]
        for place, region in zip(places, regions, strict=True):
            after = [p for p in automaton.after[place] if p in region]
            ways = [((*way, p), mask & automaton.masks[p]) for way, mask in ways for p in after]
            ways = [(way, mask) for way, mask in ways if mask]
        yield from ways


def _masks_to(places: Places | None, origins: dict[Places, tuple[Places | None, int]]) -> list[int]:
    masks: list[int] = []
    while places is not None:
        places, mask = origins[places]
        masks += [mask] if mask else []
    return masks[::-1]

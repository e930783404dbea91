"""Resolves names of schemes, and suggests schemes for unknown names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from heapq import nlargest

from inference.isa.name_parsing import MAX_NAME, Key, SchemeNameParts, read, reduced, squeezed

_MNEMONICS_TRIED = 5
"""Number of similar mnemonics to search for an unknown mnemonic."""


class SchemeNames:
    """The names of one instruction set's schemes.

    `texts` are the set's scheme texts in order. They may be in any style of `name_parsing`, or in none: then
    only their own text finds them.

    >>> SchemeNames(["add GPR[64]:RW, GPR[64]:R"]).resolve("ADD_((REG:RW:G:64)),_((REG:R:G:64))")
    'add GPR[64]:RW, GPR[64]:R'
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(dict.fromkeys(texts))
        self._text_set = frozenset(self._texts)

    def resolve(self, name: str) -> str | None:
        """The scheme text of a name, None where there is none. Case and blanks do not matter."""
        if name in self._text_set:
            return name
        if (text := self._squeezed.get(squeezed(name))) is not None:
            return text
        reading = read(name)
        if reading is None or not reading.understood or not self._has_mark(reading):
            return None
        for index in (self._by_key, self._by_reduced_key):
            for key in reading.variants():
                if candidates := index.get(key):
                    return _closest_accesses(reading, candidates)
        return None

    def _has_mark(self, reading: SchemeNameParts) -> bool:
        return not reading.mark or reading.mark in self._all_text

    def nearest(self, name: str, n: int = 1) -> list[str]:
        """Up to `n` scheme texts that resemble a name most, the best first; [] for an empty set or name.

        The time depends on the number of schemes of a few mnemonics, not on the size of the set.
        """
        reading = read(name[:MAX_NAME])
        if reading is None or n < 1:
            return []
        mnemonics = (
            [reading.mnemonic] if reading.mnemonic in self._by_mnemonic else self._similar(reading.mnemonic)
        )
        ranked: list[tuple[float, int, str]] = []
        for rank, mnemonic in enumerate(mnemonics):
            candidates = self._by_mnemonic[mnemonic]
            ranked += [(_likeness(reading, other) - 4 * rank, -i, text) for i, (text, other) in candidates]
        return [text for _, _, text in nlargest(n, ranked)]

    @cached_property
    def _squeezed(self) -> Mapping[str, str]:
        return {squeezed(text): text for text in reversed(self._texts)}

    @cached_property
    def _all_text(self) -> str:
        return "\n".join(self._texts)

    @cached_property
    def _readings(self) -> list[tuple[str, SchemeNameParts]]:
        pairs = ((text, read(text)) for text in self._texts)
        return [(text, reading) for text, reading in pairs if reading is not None]

    @property
    def _understood(self) -> Iterator[tuple[str, SchemeNameParts]]:
        return ((text, reading) for text, reading in self._readings if reading.understood)

    @cached_property
    def _by_key(self) -> Mapping[Key, list[tuple[str, SchemeNameParts]]]:
        index = defaultdict(list)
        for text, reading in self._understood:
            index[reading.key].append((text, reading))
        return dict(index)

    @cached_property
    def _by_reduced_key(self) -> Mapping[Key, list[tuple[str, SchemeNameParts]]]:
        index = defaultdict(list)
        for text, reading in self._understood:
            if (shorter := reduced(reading.key)) != reading.key:
                index[shorter].append((text, reading))
        return dict(index)

    @cached_property
    def _by_mnemonic(self) -> Mapping[str, list[tuple[int, tuple[str, SchemeNameParts]]]]:
        index = defaultdict(list)
        for position, (text, reading) in enumerate(self._readings):
            index[reading.mnemonic].append((position, (text, reading)))
        return dict(index)

    @cached_property
    def _by_letters(self) -> Mapping[str, list[str]]:
        index = defaultdict(list)
        for mnemonic in self._by_mnemonic:
            for pair in set(_pairs(mnemonic)):
                index[pair].append(mnemonic)
        return dict(index)

    def _similar(self, mnemonic: str) -> list[str]:
        """Known mnemonics with the most pairs of adjacent letters in common (Dice's coefficient)."""
        pairs = set(_pairs(mnemonic))
        shared = Counter(other for pair in pairs for other in self._by_letters.get(pair, ()))
        return nlargest(
            _MNEMONICS_TRIED,
            shared,
            key=lambda other: (2 * shared[other] / (len(pairs) + len(other) + 1), other),
        )


def _pairs(mnemonic: str) -> Iterable[str]:
    padded = f"^{mnemonic[:40]}$"
    return (padded[i : i + 2] for i in range(len(padded) - 1))


def _closest_accesses(reading: SchemeNameParts, candidates: list[tuple[str, SchemeNameParts]]) -> str:
    def agreement(candidate: tuple[str, SchemeNameParts]) -> int:
        return sum(
            ours == theirs for ours, theirs in zip(reading.accesses, candidate[1].accesses, strict=False)
        )

    return max(candidates, key=agreement)[0]


def _likeness(reading: SchemeNameParts, other: SchemeNameParts) -> float:
    """A score: points for operands equal in position, class and access, minus some for a different number."""
    points = 2.0 * (reading.head == other.head)
    for position, (ours, theirs) in enumerate(zip(reading.operands, other.operands, strict=False)):
        if ours == theirs:
            points += 3
        elif ours.partition("[")[0] == theirs.partition("[")[0]:
            points += 1
        points += 0.5 * (reading.accesses[position] == other.accesses[position] != "")
    return points - 2 * abs(len(reading.operands) - len(other.operands))

"""The experiments of a file with their schemes, made into values only as they are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

from inference.core.experiment import Experiment, Measured
from inference.formats.document import ExperimentEntry


def experiment_of_entry(entry: ExperimentEntry, texts: Mapping[str, str]) -> Experiment:
    """The multiset of an entry; names of one scheme add up. `texts`: {name in the file: scheme}."""
    counts: dict[str, int] = {}
    for name, count in entry.terms:
        text = texts[name]
        counts[text] = counts.get(text, 0) + count
    return Experiment(tuple(sorted(counts.items())))


class ReadExperiments(Sequence[Measured]):
    """Measurements as a file has them: a value takes several times the memory of the entry it is from."""

    def __init__(self, entries: Sequence[ExperimentEntry], texts: Mapping[str, str]) -> None:
        self._entries = entries
        self._texts = texts

    @overload
    def __getitem__(self, index: int) -> Measured: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Measured]: ...

    def __getitem__(self, index: int | slice) -> Measured | Sequence[Measured]:
        """One measurement, or some of them."""
        if isinstance(index, slice):
            return [self._value(entry) for entry in self._entries[index]]
        return self._value(self._entries[index])

    def __iter__(self) -> Iterator[Measured]:
        """One after the other."""
        return map(self._value, self._entries)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._entries)

    @property
    def cycles(self) -> list[float]:
        """Of each."""
        return [entry.cycles for entry in self._entries]

    @cached_property
    def rows(self) -> list[int]:
        """Where each stands in the file."""
        return [entry.row for entry in self._entries]

    @property
    def written_terms(self) -> Iterator[tuple[tuple[str, int], ...]]:
        """The terms of each, as the file writes them, in one order."""
        return (tuple(sorted(entry.terms)) for entry in self._entries)

    @cached_property
    def lengths(self) -> list[int]:
        """Instructions of each."""
        return [sum(count for _, count in entry.terms) for entry in self._entries]

    @cached_property
    def schemes(self) -> tuple[str, ...]:
        """The distinct schemes, in the order of their first occurrence."""
        names = dict.fromkeys(name for entry in self._entries for name, _ in entry.terms)
        return tuple(dict.fromkeys(self._texts[name] for name in names))

    def _value(self, entry: ExperimentEntry) -> Measured:
        return Measured(
            experiment_of_entry(entry, self._texts),
            entry.cycles,
            note=entry.note,
            annotations=entry.annotations,
            counters=entry.counters,
        )

"""Kinds of instructions whose latencies depend on each other, as pages, API and shell show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from inference.core.protocols import Json
from inference.models import LatencySet

_EXAMPLES = 6


@dataclass(frozen=True, slots=True)
class BypassKind:
    """`beside`: cycles that two neighbours, this kind and each kind in turn, take beyond their latencies."""

    number: int
    schemes: int
    examples: tuple[str, ...]
    beside: tuple[float, ...]

    def as_json(self) -> Json:
        return {
            "kind": self.number,
            "schemes": self.schemes,
            "examples": list(self.examples),
            "beside": list(self.beside),
        }


def bypass_kinds(row: LatencySet) -> list[BypassKind]:
    """The kinds of a set, by number; none where no latency depends on its neighbours.

    The examples are the first schemes of each kind with mnemonics of their own.
    """
    schemes: dict[int, dict[str, str]] = defaultdict(dict)
    beside: dict[int, tuple[float, ...]] = {}
    listed = row.schemes.order_by("scheme__text").values_list("scheme__text", "pairs")
    for text, pairs in listed.iterator(chunk_size=500):
        for pair in (pair for pair in pairs if "kind" in pair):
            schemes[pair["kind"]][text] = text.partition(" ")[0]
            beside[pair["kind"]] = tuple(pair["beside"])
    return [
        BypassKind(number, len(schemes[number]), _examples(schemes[number]), beside[number])
        for number in sorted(schemes)
    ]


def _examples(mnemonics: dict[str, str]) -> tuple[str, ...]:
    first = {mnemonic: text for text, mnemonic in reversed(mnemonics.items())}
    return tuple(sorted(first.values())[:_EXAMPLES])


def neighbour_words(pair: Json) -> str:
    """What a pair depends on, in words; "" for one that does not."""
    words = []
    if "queued" in pair:
        words.append(f"{pair['queued']:.2f} while others are queued")
    if "kind" in pair:
        words.append(f"kind {pair['kind']}: {_excess_words(pair['beside'])}")
    return "; ".join(words)


def _excess_words(beside: Sequence[float]) -> str:
    longer = [f"{cycles:+.2f} beside kind {kind}" for kind, cycles in enumerate(beside) if cycles]
    return ", ".join(longer) or "as long beside any"

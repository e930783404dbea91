"""Entries of a journal, as runs write them."""

from __future__ import annotations

from inference.core.protocols import Json


def generation(number: int, error: float = 0.5) -> tuple[str, Json]:
    """One generation as PMEvo tells it."""
    return "generation", {
        "generation": number,
        "best_error": error,
        "mean_error": 2 * error,
        "best_volume": 10,
        "mean_volume": 12.5,
        "evaluations_per_second": 1000.0,
    }


def phase(index: int) -> tuple[str, Json]:
    """The beginning of one of two stages."""
    name = ("measuring", "evolution")[index - 1]
    return "phase", {"name": name, "index": index, "labels": ["Stage of measuring", "Stage of evolution"]}


def waiting(text: str) -> tuple[str, Json]:
    """What a run tells while nothing comes from its machine; nothing when it is over."""
    return "waiting", {"text": text}

"""What a checkpoint holds: how much of its story a search has told. Answers are the measurer's to keep."""

from __future__ import annotations

from inference.core.checkpoint import check_same_search, saved_search
from inference.core.explain.problem import ExplainProblem
from inference.core.protocols import Checkpoint, Json

FORMAT = 2


def identity(problem: ExplainProblem, seed: int) -> Json:
    """What a checkpoint must agree on: with any of it changed, the story would be another one."""
    hint = problem.hint
    return {
        "algorithm": "explain",
        "format": FORMAT,
        "seed": seed,
        "settings": problem.settings.as_json(),
        "schemes": list(problem.schemes),
        "uops": dict(sorted(problem.uops.items())),
        "improper": list(problem.improper),
        "domains": dict(sorted(problem.domains.items())),
        "preferred": list(problem.preferred),
        "hint": None
        if hint is None
        else {scheme: [list(uop) for uop in uops] for scheme, uops in sorted(hint.usage.items())},
    }


def to_checkpoint(whose: Json, told: int, seconds: float, chunks: int) -> Checkpoint:
    """So many events have been told, in so many seconds, and so many chunks of schemes tested."""
    return Checkpoint({"search": whose, "told": told, "seconds": seconds, "chunks": chunks})


def told_before(problem: ExplainProblem, seed: int, checkpoint: Checkpoint | None) -> tuple[int, float, int]:
    """Events told by interrupted attempts, seconds, and chunks tested.

    Raises `InvalidInputError` where it was another search.
    """
    if checkpoint is None:
        return 0, 0.0, 0
    whose = identity(problem, seed)
    saved = saved_search(checkpoint, whose, "explainable inference")
    if saved.get("format") == 1:  # of before there were preferences: what it has told is much the same
        return int(checkpoint.meta["told"]), float(checkpoint.meta.get("seconds", 0.0)), 0
    check_same_search(saved, whose, "search")
    seconds, chunks = checkpoint.meta.get("seconds", 0.0), checkpoint.meta.get("chunks", 0)
    return int(checkpoint.meta["told"]), float(seconds), int(chunks)

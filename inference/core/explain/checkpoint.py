"""Checkpoints: how many events a search has emitted. They hold no measurements: the measurer keeps these."""

from __future__ import annotations

from inference.core.checkpoint import check_same_search, saved_search
from inference.core.explain.problem import ExplainProblem
from inference.core.protocols import Checkpoint, Json

FORMAT = 2
"""Version of a checkpoint's content; see `previous_progress` for the earlier one."""


def identity(problem: ExplainProblem, seed: int) -> Json:
    """What a checkpoint must agree on: with any of it changed, the search would emit other events."""
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


def to_checkpoint(identity: Json, n_events: int, seconds: float, chunks: int) -> Checkpoint:
    """A checkpoint with the number of events, the seconds, and the tested chunks of schemes."""
    return Checkpoint({"search": identity, "told": n_events, "seconds": seconds, "chunks": chunks})


def previous_progress(
    problem: ExplainProblem, seed: int, checkpoint: Checkpoint | None
) -> tuple[int, float, int]:
    """(events, seconds, tested chunks) of the interrupted search; zeros without a checkpoint.

    Raises:
        InvalidInputError: The checkpoint belongs to another search.
    """
    if checkpoint is None:
        return 0, 0.0, 0
    own_identity = identity(problem, seed)
    saved = saved_search(checkpoint, own_identity, "explainable inference")
    if saved.get("format") == 1:  # lacks later settings, but its events are much the same
        return int(checkpoint.meta["told"]), float(checkpoint.meta.get("seconds", 0.0)), 0
    check_same_search(saved, own_identity, "search")
    seconds, chunks = checkpoint.meta.get("seconds", 0.0), checkpoint.meta.get("chunks", 0)
    return int(checkpoint.meta["told"]), float(seconds), int(chunks)

"""What a checkpoint holds, and whether one belongs to the search that wants to go on from it.

The answers measured so far are all there is to it: the search is deterministic, so that asking again finds
the same candidates, each experiment answered from the checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable

from inference.core.cegar.answers import as_json, from_json
from inference.core.cegar.problem import CegarProblem
from inference.core.checkpoint import check_same_search, saved_search
from inference.core.experiment import Measured
from inference.core.protocols import Checkpoint, Json

FORMAT = 2


def identity(problem: CegarProblem, seed: int) -> Json:
    """What a checkpoint must agree on: with any of it changed, going on would give another answer."""
    return {
        "algorithm": "cegar",
        "format": FORMAT,
        "seed": seed,
        "settings": problem.settings.as_json(),
        "schemes": list(problem.schemes),
        "uops": dict(sorted(problem.uops.items())),
        "widths": dict(sorted(problem.widths.items())),
        "improper": list(problem.improper),
        "domains": dict(sorted(problem.domains.items())),
        **({"known": dict(sorted(problem.known.items()))} if problem.known else {}),
        **({"in_pairs": True} if problem.in_pairs else {}),
    }


def to_checkpoint(whose: Json, answers: Iterable[Measured], seconds: float) -> Checkpoint:
    """The answers as JSON facts, and how long the search has taken so far."""
    return Checkpoint({"search": whose, "answers": as_json(answers), "seconds": seconds})


def from_checkpoint(whose: Json, checkpoint: Checkpoint) -> tuple[list[Measured], float]:
    """The answers saved and the seconds spent; `InvalidInputError` where it belongs to another search."""
    saved = saved_search(checkpoint, whose, "CEGAR")
    if saved.get("format") != 1:  # of before there were preferences; answers are answers
        check_same_search(saved, whose, "CEGAR search")
    return from_json(checkpoint.meta["answers"]), checkpoint.meta.get("seconds", 0.0)

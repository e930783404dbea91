"""Inference of port mappings by any algorithm: form, run, the run's page and tabs of mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.runs.kinds import RunKind

if TYPE_CHECKING:
    from inference.models import Run


def _partial_result(run: Run) -> str:
    from inference.features.learning.inferring.run_page import partial_result  # noqa: PLC0415  pages load it

    return partial_result(run)


def _load() -> None:
    from inference.features.learning.inferring.job import load_loops  # noqa: PLC0415  runs load it

    load_loops()


KINDS = (
    RunKind(
        "infer",
        label="Inference",
        summary="Inference of a port mapping",
        example={
            "algorithm": "pmevo",
            "source": {"datasets": [3]},
            "ports": 6,
            "seed": 1,
            "settings": {"population": 200, "max_generations": 100},
        },
        partial_result=_partial_result,
        load=_load,
    ),
)

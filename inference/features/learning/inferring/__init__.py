"""Inference of a port mapping by any algorithm: form, run, what it tells while it works and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.runs.kinds import RunKind

if TYPE_CHECKING:
    from inference.runs.record_parts import RecordPart

KINDS = (
    RunKind(
        "infer",
        label="Inference",
        job="inference.features.learning.inferring.job.InferJob",
        summary="Inference of a port mapping",
        example={
            "algorithm": "pmevo",
            "source": {"datasets": [3]},
            "ports": 6,
            "seed": 1,
            "settings": {"population": 200, "max_generations": 100},
        },
        words="inference.features.learning.inferring.words.infer_words",
        page="inference.features.learning.inferring.run_page.inference",
        live="inference.features.learning.inferring.evolution.evolution_live",
        keeps="inference.features.learning.inferring.words.kept_mapping",
        archived="inference.features.learning.inferring.request.archived",
        loads="inference.features.learning.inferring.job.load_loops",
    ),
)


def _search() -> RecordPart:
    from inference.features.learning.inferring.query import SearchRecord  # noqa: PLC0415  pages load it

    return SearchRecord()


def _evolution() -> RecordPart:
    from inference.features.learning.inferring.records import EvolutionRecord  # noqa: PLC0415  pages load it

    return EvolutionRecord()


def _explain() -> RecordPart:
    from inference.features.learning.inferring.records import ExplainRecord  # noqa: PLC0415  pages load it

    return ExplainRecord()


RECORDS = {"search": _search, "evolution": _evolution, "explain": _explain}

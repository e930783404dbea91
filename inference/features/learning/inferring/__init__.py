"""Inference of port mappings by any algorithm: form, run, the run's page and tabs of mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import MappingSubject
    from inference.models import Run
    from inference.runs.events import RecordPart
    from inference.web.contributions import Context


def _job() -> Job:
    from inference.features.learning.inferring.job import InferJob  # noqa: PLC0415  runs load it

    return InferJob()


def _partial_result(run: Run) -> str:
    from inference.features.learning.inferring.run_page import partial_result  # noqa: PLC0415  pages load it

    return partial_result(run)


def _load() -> None:
    from inference.features.learning.inferring.job import load_loops  # noqa: PLC0415  runs load it

    load_loops()


def _presentation() -> KindPresentation:
    from inference.features.learning.inferring.pmevo_page import evolution_live  # noqa: PLC0415  pages load it
    from inference.features.learning.inferring.request import archived  # noqa: PLC0415  pages load it
    from inference.features.learning.inferring.run_page import infer_lines, inference  # noqa: PLC0415  pages load it

    return KindPresentation(words=infer_lines, page=inference, live=evolution_live, archived=archived)


KINDS = (
    RunKind(
        "infer",
        label="Inference",
        job=_job,
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

PRESENTATIONS = {"infer": _presentation}


def _search() -> RecordPart:
    from inference.features.learning.inferring.cegar_page import SearchRecord  # noqa: PLC0415  pages load it

    return SearchRecord()


def _evolution() -> RecordPart:
    from inference.features.learning.inferring.pmevo_page import EvolutionRecord  # noqa: PLC0415  pages load it

    return EvolutionRecord()


def _explain() -> RecordPart:
    from inference.features.learning.inferring.outcome_lists import ExplainRecord  # noqa: PLC0415  pages load it

    return ExplainRecord()


RECORDS = {"search": _search, "evolution": _evolution, "explain": _explain}


def _front(_request: HttpRequest, subject: MappingSubject) -> Context:
    from inference.features.learning.inferring.front import front_tab  # noqa: PLC0415  pages load it, not every start

    return front_tab(subject.row)


def _has_front(subject: MappingSubject) -> bool:
    from inference.features.learning.inferring.front import front_of  # noqa: PLC0415  pages load it

    return subject.once(front_of) is not None


def _most_accurate(_request: HttpRequest, subject: MappingSubject) -> Context | None:
    from inference.features.learning.inferring.front import front_of, most_accurate  # noqa: PLC0415  pages load it

    return most_accurate(subject.once(front_of))


def _evidence(request: HttpRequest, subject: MappingSubject) -> Context:
    from inference.features.learning.inferring.cegar_page import evidence_context  # noqa: PLC0415  pages load it, not every start

    return evidence_context(request, subject.row)


def _has_evidence(subject: MappingSubject) -> bool:
    from inference.storage.evidence import KEY  # noqa: PLC0415  pages load it

    return KEY in subject.row.report


PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "front",
        "Accuracy vs. size",
        "inference/inferring/front.html",
        _front,
        order=70,
        applies=_has_front,
        scripts=("js/front.js",),
    ),
    PagePanel(
        PanelPlace.MAPPING,
        "evidence",
        "Evidence",
        "inference/inferring/evidence.html",
        _evidence,
        order=90,
        applies=_has_evidence,
    ),
    PagePanel(
        PanelPlace.BELOW_MAPPING,
        "most accurate",
        "",
        "inference/inferring/most_accurate.html",
        _most_accurate,
    ),
)

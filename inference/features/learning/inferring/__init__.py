"""Inference of a port mapping by any algorithm: form, run, what it tells while it works and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import ShownMapping
    from inference.models import Run
    from inference.runs.events import RecordPart
    from inference.web.contributions import Context


def _job() -> Job:
    from inference.features.learning.inferring.job import InferJob  # noqa: PLC0415  runs load it

    return InferJob()


def _keeps(run: Run) -> str:
    from inference.features.learning.inferring.run_page import kept_mapping  # noqa: PLC0415  pages load it

    return kept_mapping(run)


def _load() -> None:
    from inference.features.learning.inferring.job import load_loops  # noqa: PLC0415  runs load it

    load_loops()


def _presentation() -> KindPresentation:
    from inference.features.learning.inferring.pmevo_page import evolution_live  # noqa: PLC0415  pages load it
    from inference.features.learning.inferring.request import archived  # noqa: PLC0415  pages load it
    from inference.features.learning.inferring.run_page import infer_words, inference  # noqa: PLC0415  pages load it

    return KindPresentation(words=infer_words, page=inference, live=evolution_live, archived=archived)


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
        keeps=_keeps,
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


def _front(_request: HttpRequest, subject: ShownMapping) -> Context:
    from inference.features.learning.inferring.front import front_tab  # noqa: PLC0415  pages load it, not every start

    return front_tab(subject.row)


def _has_front(subject: ShownMapping) -> bool:
    from inference.features.learning.inferring.front import front_of  # noqa: PLC0415  pages load it

    return subject.once(front_of) is not None


def _most_accurate(_request: HttpRequest, subject: ShownMapping) -> Context | None:
    from inference.features.learning.inferring.front import front_of, most_accurate  # noqa: PLC0415  pages load it

    return most_accurate(subject.once(front_of))


def _evidence(request: HttpRequest, subject: ShownMapping) -> Context:
    from inference.features.learning.inferring.cegar_page import found_mapping  # noqa: PLC0415  pages load it, not every start

    return found_mapping(request, subject.row)


def _has_evidence(subject: ShownMapping) -> bool:
    from inference.storage.evidence import KEY  # noqa: PLC0415  pages load it

    return KEY in subject.row.report


PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "front",
        "Front",
        "inference/inferring/front.html",
        _front,
        place=70,
        suits=_has_front,
        scripts=("js/front.js",),
    ),
    PagePanel(
        PanelPlace.MAPPING,
        "evidence",
        "Evidence",
        "inference/inferring/evidence.html",
        _evidence,
        place=90,
        suits=_has_evidence,
    ),
    PagePanel(
        PanelPlace.BELOW_MAPPING,
        "most accurate",
        "",
        "inference/inferring/most_accurate.html",
        _most_accurate,
    ),
)

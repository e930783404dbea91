"""Findings about schemes, with their evidence.

Doubts, conflicts, experiments slower than predicted, and weak classes are computed when they are viewed. Two
kinds of runs find more: `check-model` measures how well the port mapping model describes a machine (thesis
§3.2.2), `llvm-difference` compares with LLVM's scheduling model.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import MenuEntry, MenuPlace, PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import MappingSubject
    from inference.models import PortMapping
    from inference.web.contributions import Context


def _tab(name: str, request: HttpRequest, subject: MappingSubject) -> Context:
    from inference.features.judging.findings.pages import TABS  # noqa: PLC0415  pages load it, not every start

    return TABS[name](request, subject.row, subject.value)


def _has_classes(subject: MappingSubject) -> bool:
    return bool(subject.row.report.get("congruence_classes"))


def _panel(name: str, title: str, order: int, **options: Any) -> PagePanel:
    template = f"inference/findings/{name}.html"
    return PagePanel(PanelPlace.MAPPING, name, title, template, partial(_tab, name), order=order, **options)


def _llvm_job() -> Job:
    from inference.features.judging.findings.llvm_job import LlvmDifferenceJob  # noqa: PLC0415  runs load it

    return LlvmDifferenceJob()


def _check_job() -> Job:
    from inference.features.judging.findings.model_check_job import CheckModelJob  # noqa: PLC0415  runs load it

    return CheckModelJob()


def _presentation() -> KindPresentation:
    from inference.features.judging.findings.model_check_pages import presentation  # noqa: PLC0415  pages load it

    return presentation()


def _has_blocks(row: PortMapping) -> bool:
    from inference.isa.targets import target_of  # noqa: PLC0415  pages load it

    return target_of(row.isa.name).blocks is not None


PANELS = (
    _panel("doubts", "Doubts", 50, styles=("css/doubts.css",)),
    _panel("excess", "Slower than predicted", 60),
    _panel("classes", "Classes", 80, applies=_has_classes),
)

KINDS = (
    RunKind(
        "llvm-difference",
        label="LLVM comparison",
        job=_llvm_job,
        summary="A port mapping compared with LLVM’s scheduling model",
        example={"mapping": 7, "cpu": "haswell", "tolerance": 0.2},
        lane=Lane.SHORT,
    ),
    RunKind(
        "check-model",
        label="Model check",
        job=_check_job,
        summary="How well the port mapping model describes a machine",
        example={"machine": 2, "reference": 7, "mixes": 200, "sequences": 50},
        lane=Lane.MEASURING,
    ),
)

PRESENTATIONS = {"check-model": _presentation}

MENUS = (
    MenuEntry(
        MenuPlace.MAPPING,
        "Difference to LLVM’s model …",
        "mapping-llvm",
        "llvm-mca’s prediction for each scheme; a report in Markdown",
        applies=_has_blocks,
    ),
)

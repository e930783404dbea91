"""What is questionable of schemes, and the evidence.

Doubts, conflicts, excess and weak classes are computed when they are asked for; two kinds of runs ask more:
`check-model` measures how well the model describes a machine (thesis §3.2.2), `llvm-difference` asks LLVM.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from inference.features.running.runs.kind_presentation import KindPresentation
from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import MenuEntry, MenuPlace, PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import ShownMapping
    from inference.models import PortMapping
    from inference.web.contributions import Context


def _tab(name: str, request: HttpRequest, subject: ShownMapping) -> Context:
    from inference.features.judging.findings.pages import TABS  # noqa: PLC0415  pages load it, not every start

    return TABS[name](request, subject.row, subject.value)


def _has_classes(subject: ShownMapping) -> bool:
    return bool(subject.row.report.get("congruence_classes"))


def _panel(name: str, place: int, **more: Any) -> PagePanel:
    template = f"inference/findings/{name}.html"
    return PagePanel(
        PanelPlace.MAPPING, name, name.title(), template, partial(_tab, name), place=place, **more
    )


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
    _panel("doubts", 50, styles=("css/doubts.css",)),
    _panel("excess", 60),
    _panel("classes", 80, suits=_has_classes),
)

KINDS = (
    RunKind(
        "llvm-difference",
        label="LLVM comparison",
        job=_llvm_job,
        summary="A port mapping beside LLVM’s scheduling model",
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
        "what llvm-mca says of each scheme; a report in Markdown",
        suits=_has_blocks,
    ),
)

"""Front ends of cores, measured by code that only the front end limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inference.runs.kinds import Job, Lane, RunKind
from inference.web.contributions import PagePanel, PanelPlace

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.library.mappings.query import MappingSubject
    from inference.models import Machine
    from inference.web.contributions import Context


def _job() -> Job:
    from inference.features.learning.front_end.job import FrontEndJob  # noqa: PLC0415  runs load it

    return FrontEndJob()


KINDS = (
    RunKind(
        "front-end",
        label="Front end",
        job=_job,
        summary="Measuring a machine’s front end",
        example={"machine": 2},
        lane=Lane.MEASURING,
    ),
)


def _of_machine(_request: HttpRequest, machine: Machine) -> Context | None:
    from inference.features.learning.front_end.query import HEADLINES, newest_front_end  # noqa: PLC0415  as pages do

    newest = newest_front_end(machine, HEADLINES)
    return None if newest is None else {"front_end": newest}


def _of_mapping(_request: HttpRequest, subject: MappingSubject) -> Context | None:
    from inference.features.learning.front_end.query import issue_of  # noqa: PLC0415  as pages do

    machine = subject.row.machine
    issue = None if machine is None else issue_of(machine)
    return {"machine": machine} if issue is not None and issue.in_order else None


PANELS = (
    PagePanel(
        PanelPlace.BELOW_MAPPING, "issue order", "", "inference/front_end/issue_order.html", _of_mapping
    ),
    PagePanel(
        PanelPlace.MACHINE,
        "front end",
        "Front end",
        "inference/front_end/of_machine.html",
        _of_machine,
        order=10,
    ),
)

"""Page, API and shell store the same description of a run for the same request, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from inference.models import Run
from inference.runs.kinds import RUN_KINDS
from inference.web.run_command import RunCommand
from tests.doors import sent_by_page
from tests.rows.programs import Program

IDS = Mapping[str, int]


@dataclass(frozen=True)
class ThreeDoors:
    """The same request at each door, from the numbers of the rows that `world` has.

    Args:
        config: The description, by the API.
        command: Arguments of `manage.py`.
        page: An address, to which its form is sent as it is proposed, with the changes in `fields`.
    """

    config: Callable[[IDS], dict[str, Any]]
    command: Sequence[object]
    page: str
    fields: Callable[[IDS], dict[str, Any]] = lambda _ids: {}


CASES = {
    "infer": ThreeDoors(
        lambda ids: {"source": {"datasets": [ids["set_id"]]}, "ports": 3, "seed": 4},
        ["infer", "--algorithm", "pmevo", "--dataset", "small", "--ports", 3, "--seed", 4],
        "/infer/",
        lambda ids: {"source": "datasets", "datasets": [ids["set_id"]], "set_ports": 3, "seed": 4},
    ),
    "measure": ThreeDoors(
        lambda ids: {"machine": ids["machine_id"], "schemes": "default", "plan": "pairs", "seed": 4},
        ["measure", "--machine", "lab", "--schemes", "default", "--plan", "pairs", "--seed", 4],
        "/machines/{machine_id}/measure/",
        lambda _ids: {"selection": "default", "plan": "pairs", "seed": 4},
    ),
    "check-model": ThreeDoors(
        lambda ids: {"machine": ids["machine_id"], "reference": ids["mapping_id"], "mixes": 20, "seed": 1},
        ["check-model", "--machine", "lab", "--reference", "three ports", "--mixes", 20],
        "/check-model/?machine={machine_id}",
        lambda ids: {"machine": ids["machine_id"], "reference": ids["mapping_id"], "mixes": 20},
    ),
    "know": ThreeDoors(
        lambda ids: {"machine": ids["machine_id"], "schemes": "default", "minutes": 30},
        ["know", "--machine", "lab", "--schemes", "default", "--minutes", 30],
        "/machines/{machine_id}/know/",
        lambda _ids: {"selection": "default", "minutes": 30},
    ),
    "front-end": ThreeDoors(
        lambda ids: {"machine": ids["machine_id"]},
        ["front_end", "--machine", "lab"],
        "/machines/{machine_id}/front-end/",
    ),
    "families": ThreeDoors(
        lambda ids: {"campaign": ids["campaign_id"]},
        ["families", "small"],
        "/campaigns/{campaign_id}/families/",
    ),
    "coverage": ThreeDoors(
        lambda ids: {
            "campaigns": [ids["campaign_id"]],
            "block_set": ids["block_set_id"],
            "columns": ["one", "two"],
            "blocks": 50,
        },
        ["coverage", "small", "--set", "three blocks", "--columns", "one", "two", "--blocks", 50],
        "/block-sets/{block_set_id}/cover/",
        lambda ids: {
            "campaigns": [ids["campaign_id"]],
            "first": "one",
            "second": "two",
            "metric": "relative",
            "threshold": 0.5,
            "blocks": 50,
        },
    ),
    "latencies": ThreeDoors(
        lambda ids: {"machine": ids["machine_id"], "schemes": "default"},
        ["latencies", "--machine", "lab", "--schemes", "default"],
        "/machines/{machine_id}/latencies/",
        lambda _ids: {"selection": "default"},
    ),
}

AT_ONCE = "the command does it at once, without a run"
BY_SOURCES = "pages start `judge`, which describes the same by sources"
WITHOUT = {
    "accuracy": AT_ONCE,
    "accuracy-check": BY_SOURCES,
    "ask": "`manage.py predict` asks at once",
    "block": "`manage.py measure-block` takes assembly, the page a block that was asked about",
    "campaign": "predictors are chosen by name and made where they are missing",
    "columns": "as a campaign",
    "complete": "of the page that explains a loop and of the API; a command profiles the whole core",
    "compare-sets": AT_ONCE,
    "comparison": BY_SOURCES,
    "judge": "the command names sources by words, the page by kinds of rows",
    "evaluate": AT_ONCE,
    "generalise": "as a campaign",
    "import": AT_ONCE,
    "import-anica": AT_ONCE,
    "llvm-difference": AT_ONCE,
    "loops": AT_ONCE,
    "matrix": BY_SOURCES,
    "merge-sets": AT_ONCE,
    "quick-block": "of the page that explains a loop and of the API; `manage.py measure-block` for the shell",
    "read": "of pages and API alone: what a file is",
    "scheduler": "no page starts one",
}
"""Kinds of runs that lack a door, or for which all three cannot be asked the same."""


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that do a run end when they have submitted it."""

    def stop(_self: RunCommand, submit: Callable[[], Run]) -> Run:
        raise SubmittedError(submit())

    monkeypatch.setattr(RunCommand, "do_run", stop)


class SubmittedError(Exception):
    """Carries the run."""


@pytest.mark.usefixtures("submitted")
@pytest.mark.parametrize("kind", CASES)
def test_all_doors_store_the_same_description(
    kind: str, visitor: Client, program: Program, world: dict[str, int]
) -> None:
    case = CASES[kind]
    before = set(Run.objects.values_list("pk", flat=True))
    address = case.page.format(**world)
    answer = sent_by_page(visitor, address, **case.fields(world))
    assert answer.status_code == 302, [form.errors for form in (answer.context or {}).get("form", ())]
    by_page = Run.objects.exclude(pk__in=before).get()
    assert by_page.kind == kind
    status, by_api = program("POST", "/runs", {"kind": kind, "config": case.config(world)})
    assert status == 201, by_api
    with pytest.raises(SubmittedError) as stopped:
        call_command(*map(str, case.command))
    assert by_page.config == by_api["config"] == stopped.value.args[0].config


def test_each_kind_of_run_is_asked_for_at_all_doors_or_says_why_not() -> None:
    assert CASES.keys() | WITHOUT.keys() == RUN_KINDS.keys()
    assert not CASES.keys() & WITHOUT.keys()

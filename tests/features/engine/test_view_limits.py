"""What of a comparison can be looked at, and what is refused before anybody is asked."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from inference.features.judging.accuracy_checks.request import AccuracyCheckConfig
from inference.features.judging.engine.request import ComparisonConfig, JudgeConfig
from inference.features.judging.engine.starting_pages import JudgeForm
from inference.measuring.blocks import LOOP, UNROLLED
from inference.models import BasicBlockSet, Run
from inference.runs.lifecycle import submit
from tests.features.engine import compared as small
from tests.rows.programs import Program
from tests.work import work_off

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


@pytest.fixture
def run() -> Run:
    """A mapping and a tool on six experiments; the mapping answers four of them, the tool five."""
    isa = small.few_schemes()
    judged = small.measured_set(isa)
    sources = [f"mapping:{small.ports(isa).pk}", "tool:Oracle"]
    made = work_off(submit("judge", {"experiment_set": judged.pk, "sources": sources}, "judged"))
    assert made.state == "done", made.error
    return made


def test_what_is_far_apart_leaves_the_coverage_as_it_is(visitor: Client, run: Run, reader: Program) -> None:
    page = visitor.get(reverse("comparison", args=[run.pk]), {"apart": "10"})
    coverage = [line.coverage for line in page.context["lines"]]
    assert coverage == [pytest.approx(400 / 6), pytest.approx(500 / 6)]
    assert page.context["lines"][1].scores.n == 0  # the tool is exact
    address = f"/predictor-comparisons/{run.pk}?apart=0.1"
    assert [column["coverage"] for column in reader.get(address)["columns"]] == [
        pytest.approx(4 / 6),
        pytest.approx(5 / 6),
    ]
    (table,) = reader.get(f"/comparisons/{run.pk}?apart=0.1")["tables"]
    assert [row[3] for row in table["rows"]] == pytest.approx(coverage)


def test_a_reference_is_not_held_against_itself(visitor: Client, run: Run, reader: Program) -> None:
    address = reverse("comparison", args=[run.pk])
    page = visitor.get(address, {"tab": "worst-no", "against": 0})
    assert page.status_code == 400
    for tab in ("map", "traits", "telling"):
        page = visitor.get(address, {"tab": tab, "against": 0})
        assert page.context["column"].name == "Oracle"
        assert [column.name for column in page.context["selectable"]] == ["Oracle"]
        same = visitor.get(address, {"tab": tab, "against": 0, "column": 0})
        assert same.context["column"].name == "Oracle"
    scores = visitor.get(address, {"against": 0})
    assert [line.column.name for line in scores.context["lines"]] == ["Oracle"]
    view = f"/comparisons/{run.pk}?against=0"
    assert [row[0] for row in reader.get(view)["tables"][0]["rows"]] == ["Oracle"]
    assert reader.get(f"{view}&view=worst")["column"] == "Oracle"
    assert reader("GET", f"{view}&view=worst&column=0")[0] == 422


@pytest.mark.parametrize("wrong", [["--search", "nosuchkey:x"], ["--column", "IACA"], ["--apart", "nan"]])
def test_the_shell_refuses_a_view_before_anybody_is_asked(run: Run, wrong: list[str]) -> None:
    before = Run.objects.count()
    with pytest.raises(CommandError):
        call_command("judge", "set:measured", "tool:Oracle", *wrong)
    assert Run.objects.count() == before


def test_a_source_that_cannot_be_ticked_is_told(visitor: Client, run: Run) -> None:
    address, experiments = reverse("comparison-new"), f"set:{run.config['experiment_set']}"
    for query_of, words in (
        ({"source": "mapping:777"}, "there is no port mapping with this number"),
        ({"source": "nonsense"}, "is no source"),
        (
            {"source": "column:1", "items": experiments},
            "no answers for experiments",
        ),
    ):
        page = visitor.get(address, query_of)
        assert (page.status_code, words in page.content.decode()) == (400, True), query_of


def test_new_doors_preset_loops_and_older_ones_leave_scripts_what_they_had(reader: Program) -> None:
    from anica_app.features.matrices.job import MatrixConfig
    from inference.features.asking.predictors.kinds import kind_of

    form = JudgeForm(BasicBlockSet.objects.create(name="blocks", size=1))
    assert form["mode"].value() == JudgeConfig.default_of("mode") == LOOP
    assert _option("judge", "set:x").mode == LOOP
    body = reader.get("/openapi.json")["components"]["schemas"]["NewJudgement"]
    assert body["properties"]["mode"]["default"] == LOOP
    assert (
        AccuracyCheckConfig.default_of("mode") == _option("accuracy", "x", "--machine", "y").mode == UNROLLED
    )
    for earlier in (ComparisonConfig, MatrixConfig):
        assert earlier.default_of("mode") == ""
    for command in (("compare-predictors", "x"), ("matrix",)):
        assert _option(*command).mode == ""
    for kind in ("llvm-mca", "core-model"):
        assert kind_of(kind).mode_of({}) in (UNROLLED, "")


def _option(name: str, *arguments: str) -> Any:
    from django.core.management import load_command_class

    for app in ("inference", "anica_app"):
        try:
            command = load_command_class(app, name)
        except ModuleNotFoundError:
            continue
        return command.create_parser("manage.py", name).parse_args(arguments)
    raise AssertionError(name)

"""Competition of schemes in a set: page, API and shell."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.features.judging.findings.conflicts import conflicts_in
from inference.features.judging.findings.request import ConflictsRequest
from inference.models import ISA, ExperimentSet
from inference.storage.rows import store_measurements
from tests.doors import agreed, printed
from tests.rows.library import ADD, IMUL


@pytest.fixture
def pairs(isa: ISA) -> ExperimentSet:
    """Three schemes: two on one port, and one on another."""
    row = ExperimentSet.objects.create(name="pairs", isa=isa, origin="upload")
    third = isa.schemes.exclude(text__in=(ADD, IMUL)).order_by("pk")[0].text
    failed = Measured(Experiment.of({IMUL: 1, third: 1}), None, state=MeasurementState.FAILED)
    rows = [
        Measured(Experiment.of({ADD: 1}), 1.0),
        Measured(Experiment.of({IMUL: 1}), 2.0),
        Measured(Experiment.of({third: 1}), 1.0),
        Measured(Experiment.of({ADD: 1, IMUL: 1}), 2.0),
        Measured(Experiment.of({ADD: 1, third: 1}), 2.0),
        Measured(Experiment.of({ADD: 2}), 2.0),
        failed,
    ]
    store_measurements(row, rows)
    return row


def test_the_page_draws_the_matrix_and_names_the_classes(visitor: Client, pairs: ExperimentSet) -> None:
    page = visitor.get(reverse("set-conflicts", args=[pairs.pk]))
    conflicts = page.context["conflicts"]
    assert (page.context["pairs"], conflicts.conflicts.competing, conflicts.left_out) == (2, 1, 0)
    assert sorted(len(schemes) for schemes in page.context["classes"]) == [1, 2]
    (trace,) = page.context["figure"]["figure"]["data"]
    at = {label: place for place, label in enumerate(trace["x"])}
    assert trace["z"][at[ADD]][at[IMUL]] == trace["z"][at[IMUL]][at[ADD]] == 0
    assert sum(cell is None for line in trace["z"] for cell in line) == 5
    classes = visitor.get(reverse("set-conflicts", args=[pairs.pk]), {"by": "classes"})
    assert (len(classes.context["figure"]["ids"]), classes.context["figure"]["sizes"]) == (2, [1, 1])
    assert page.context["figure"]["sizes"] == [len(schemes) for schemes in page.context["classes"]]
    assert reverse("set-conflicts", args=[pairs.pk]) in visitor.get(reverse("set", args=[pairs.pk])).text


def test_a_cell_leads_to_its_three_experiments(visitor: Client, pairs: ExperimentSet) -> None:
    ids = dict(pairs.isa.schemes.values_list("text", "pk"))
    address = reverse("set-conflicts", args=[pairs.pk])
    ((cells, _),) = visitor.get(address, {"first": ids[IMUL], "second": ids[ADD]}).context["rows"]
    experiments = {
        reverse("experiment", args=[pk]): cycles
        for pk, cycles in pairs.measurements.values_list("experiment", "cycles")
    }
    timed = [value for _, value in cells[2:5]]
    assert [experiments[time.url] for time in timed] == timed == [1.0, 2.0, 2.0]
    rows = visitor.get(address, {"first": ids[ADD]}).context["rows"]
    assert [cells[5][1] for cells, _ in rows] == [1.0, 0.0]
    assert {cells[0][1] for cells, _ in rows} == {ADD}
    assert visitor.get(address, {"first": ids[ADD], "second": ids[ADD]}).context["total"] == 2
    assert visitor.get(address, {"first": 0}).status_code == 404


def test_of_repeated_measurements_the_last_counts(isa: ISA) -> None:
    row = ExperimentSet.objects.create(name="repeated", isa=isa, origin="upload")
    both = Experiment.of({ADD: 1, IMUL: 1})
    alone = [Measured(Experiment.of({ADD: 1}), 1.0), Measured(Experiment.of({IMUL: 1}), 9.0)]
    store_measurements(row, [Measured(both, 1.0), *alone, Measured(both, 2.5)])
    store_measurements(row, [Measured(Experiment.of({IMUL: 1}), 2.0)], first_repeat=1)
    (pair,) = conflicts_in(row, ConflictsRequest()).all_pairs()
    assert (pair.first, pair.second, pair.share) == (ADD, IMUL, 0.5)
    assert ([one.cycles for one in pair.alone], pair.together.cycles) == ([1.0, 2.0], 2.5)


def test_a_search_leaves_pairs_of_what_it_finds(pairs: ExperimentSet) -> None:
    whole = conflicts_in(pairs, ConflictsRequest()).all_pairs()
    schemes = {scheme for each in whole for scheme in (each.first, each.second)}
    for each in whole:
        (other,) = schemes - {each.first, each.second}
        found = conflicts_in(pairs, ConflictsRequest(q=f'-"{other}"'))
        assert found.all_pairs() == [each]
        assert sorted(found.matrix.schemes) == [each.first, each.second]
        assert found.alone(each.first) == each.alone[0]


def test_what_cannot_be_asked_is_said(
    visitor: Client, pairs: ExperimentSet, experiment_set: ExperimentSet
) -> None:
    address = reverse("set-conflicts", args=[pairs.pk])
    assert visitor.get(address, {"by": "ports"}).status_code == 400
    assert visitor.get(address, {"q": "width:x"}).status_code == 400
    assert visitor.get(address, {"q": "imul"}).context["members"] == []
    assert visitor.get(reverse("set-conflicts", args=[experiment_set.pk])).status_code == 200


def test_programs_and_the_shell_get_the_same(visitor: Client, pairs: ExperimentSet) -> None:
    command = ("conflicts", "pairs", "--classes")
    answer = agreed(visitor, f"/sets/{pairs.pk}/conflicts", *command, query={"by": "classes"})
    assert (answer["pairs"], answer["competing"], len(answer["rows"])) == (2, 1, 2)
    add = pairs.isa.schemes.get(text=ADD).pk
    found = visitor.get(f"/api/v1/sets/{pairs.pk}/conflicts/{add}").json()
    assert [pair["share"] for pair in found] == [1.0, 0.0]
    imul = pairs.isa.schemes.get(text=IMUL).pk
    (one,) = visitor.get(f"/api/v1/sets/{pairs.pk}/conflicts/{add}", {"other": imul}).json()
    assert (one["second"]["scheme"], one["cycles"]) == (IMUL, 2.0)
    assert visitor.get(f"/api/v1/sets/{pairs.pk}/conflicts/0").status_code == 404
    text = printed("conflicts", "pairs", "--csv")
    page = visitor.get(reverse("set-conflicts-csv", args=[pairs.pk])).content.decode()
    assert text == page
    assert len([line for line in page.splitlines() if not line.startswith("#")]) == 3
    assert printed("conflicts", "pairs").startswith("pairs: 1 of 2 pairs compete")
    judged = printed("judge", "set:pairs", "--view", "conflicts", "--json")
    assert judged == printed("conflicts", "pairs", "--json")
    for items in ("mapping:pairs", "set:pairs mapping:7"):
        with pytest.raises(CommandError, match="is not possible; without sources, these are: "):
            printed("judge", *items.split(), "--view", "conflicts")
    with pytest.raises(CommandError, match="no experiment set"):
        call_command("conflicts", "nothing", stdout=StringIO())


def test_the_page_offers_what_has_a_row(visitor: Client, pairs: ExperimentSet) -> None:
    page = visitor.get(reverse("set-conflicts", args=[pairs.pk]), {"by": "classes"})
    assert '<option value="schemes">' in page.text
    assert '<option value="classes" selected>' in page.text

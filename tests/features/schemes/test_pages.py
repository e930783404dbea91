"""The page of a scheme: mappings, numbers, witnesses, residuals, experiments, and what others add."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Value
from inference.core.resources import ResourceMapping
from inference.features.library.schemes.query import PAGE
from inference.models import ISA, ExperimentSet, InstructionScheme, Machine, PortMapping
from inference.storage.evaluations import evaluate
from inference.storage.mappings import store_mapping, store_resource_mapping
from inference.storage.rows import store_measurements
from inference.web import contributions
from tests.explained import BSF, IMUL, explained_mapping, toy_isa
from tests.rows.lab import machine
from tests.rows.library import ADD
from tests.rows.library import IMUL as MUL

__all__ = ["machine"]

MAX_QUERIES = 30


def page(visitor: Client, text: str, **query: object):
    return visitor.get(reverse("scheme", args=[InstructionScheme.objects.get(text=text).pk]), query)


def test_every_mapping_says_its_uops_how_long_they_take_and_how_far_off_it_is(
    visitor: Client, experiment_set: ExperimentSet, mapping: PortMapping
):
    evaluate(mapping, experiment_set)
    response = page(visitor, ADD)
    (row,) = response.context["facts"]
    assert row["facts"].mapping == mapping
    assert row["facts"].cycles == pytest.approx(1 / 3)
    assert row["error"].n == 2
    errors = [100 * (1 / 3 - 0.25) / 0.25, 100 * (1.0 - 1.02) / 1.02]
    assert row["error"].signed == pytest.approx(sum(errors) / 2, abs=0.01)
    assert visitor.get(row["url"] + str(response.context["scheme"].pk)).context["bin_total"] == 2
    assert f"pin=i{response.context['scheme'].pk}" in response.content.decode()


def test_what_one_instance_was_measured_to_take_stands_beside_counters_and_tools(
    visitor: Client, isa: ISA, machine: Machine
):
    made = ExperimentSet.objects.create(name="lab", isa=isa, origin="run", machine=machine)
    measured = Measured(Experiment.of([ADD]), 0.26, annotations={"llvm-mca": 0.5}, counters={"uops": 1.0})
    store_measurements(made, [measured])
    text = page(visitor, ADD).content.decode()
    assert "llvm-mca 0.50" in text
    assert "uops 1.00" in text
    assert machine.name in text


def test_experiments_are_paged_beside_what_a_chosen_mapping_predicts(
    visitor: Client, isa: ISA, mapping: PortMapping
):
    made = ExperimentSet.objects.create(name="many", isa=isa, origin="upload")
    several = [Measured(Experiment.of({ADD: n, MUL: 1}), 1.0 + n) for n in range(1, PAGE + 6)]
    store_measurements(made, several)
    other = store_mapping(
        "slow", isa, Value(("0",), {ADD: ((1, 1),), MUL: ((1, 1),)}), origin=PortMapping.Origin.IMPORT
    )
    first = page(visitor, ADD)
    assert first.context["page"].total == PAGE + 5
    lengths = [each.stored.value.experiment.length for each in first.context["experiments"]]
    assert lengths == sorted(lengths)
    assert len(lengths) == PAGE
    assert [each.predicted for each in first.context["experiments"]] == [n + 1.0 for n in range(1, PAGE + 1)]
    second = page(visitor, ADD, page=first.context["page"].next_cursor, mapping=mapping.pk)
    assert len(second.context["experiments"]) == 5
    assert second.context["predicted_by"] == mapping
    assert second.context["experiments"][0].difference == pytest.approx(
        100 * ((PAGE + 2) / 3 - (PAGE + 2)) / (PAGE + 2)
    )
    assert page(visitor, ADD, mapping=other.pk).context["predicted_by"] == other
    assert page(visitor, ADD, mapping=99999).status_code == 404


def test_the_experiments_as_a_file_can_be_imported(visitor: Client, experiment_set: ExperimentSet):
    number = InstructionScheme.objects.get(text=ADD).pk
    text = visitor.get(reverse("scheme-csv", args=[number])).content.decode()
    rows = [line for line in text.splitlines() if not line.startswith("#")]
    assert rows[0] == "experiment,cycles,note"
    assert rows[1] == f'"{ADD}",0.25,"small, settled"'
    assert len(rows) == 3


def test_witnesses_and_verdicts_are_listed_also_where_a_scheme_is_excluded(visitor: Client, db: None):
    row = explained_mapping(toy_isa())
    response = page(visitor, BSF)
    (said,) = (each["facts"] for each in response.context["facts"])
    assert (said.uops, said.verdict.outcome, said.witnesses) == (None, "excluded", 3)
    assert "1.48 µops beside imul" in response.content.decode()
    assert {each.characterisation.mapping_id for each, _ in response.context["witnesses"]} == {row.pk}
    assert len(page(visitor, IMUL).context["witnesses"]) == 3


def test_other_apps_add_sections_that_may_have_nothing_to_say(
    visitor: Client, isa: ISA, monkeypatch: pytest.MonkeyPatch
):
    spoken = [("TOLD", 1)]
    template = "partials/terms.html"
    panels = [
        contributions.PagePanel(contributions.PanelPlace.SCHEME, name, name.upper(), template, context)
        for name, context in (
            ("told", lambda request, scheme: {"terms": spoken}),
            ("silent", lambda request, scheme: None),
        )
    ]
    monkeypatch.setattr(contributions, "contributed", {"PANELS": panels, "MENUS": []}.get)
    shown = page(visitor, ADD).context["panels"]
    assert [(one.panel.name, one.context["terms"]) for one in shown] == [("told", spoken)]
    assert "TOLD" in page(visitor, ADD).content.decode()


def test_many_mappings_take_as_few_queries_as_one(
    visitor: Client,
    isa: ISA,
    experiment_set: ExperimentSet,
    django_assert_max_num_queries: DjangoAssertNumQueries,
):
    value = Value(("0", "1"), {ADD: ((3, 1),), MUL: ((1, 1),)})
    for number in range(12):
        row = store_mapping(f"mapping {number}", isa, value, origin=PortMapping.Origin.IMPORT)
        evaluate(row, experiment_set)
    store_resource_mapping("palmed", isa, ResourceMapping(("r",), {ADD: ((0, 0.5),)}), origin="import")
    with django_assert_max_num_queries(MAX_QUERIES):
        response = page(visitor, ADD)
    assert len(response.context["facts"]) == 12
    assert all("error" in row for row in response.context["facts"])

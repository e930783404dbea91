"""The Doubts tab: what it lists, why, what would decide, and the buttons that measure."""

from __future__ import annotations

import csv
import io

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Value
from inference.core.misfits import LABELS, Doubt, DoubtKind
from inference.features.judging.findings import doubts
from inference.features.judging.findings.doubts import decisions, doubts_of
from inference.models import ISA, ExperimentSet, Machine, PortMapping, Run
from inference.storage.evaluations import evaluate
from inference.storage.evidence import KEY as SEARCHED
from inference.storage.mappings import store_mapping
from inference.storage.rows import store_measurements
from tests.explained import (
    ADD,
    ADD_LOAD,
    BSF,
    CMOV,
    DIV,
    IMUL,
    LOAD,
    PORTS,
    TRUTH,
    explained_mapping,
    toy_isa,
)
from tests.simulated import simulated_machine

pytestmark = pytest.mark.django_db
MAX_QUERIES = 33
WHY, DECIDES = 4, 5
"""Columns of the table."""
OTHER = Value(PORTS, {**TRUTH.usage, IMUL: ((0b0001, 1), (0b0010, 1)), LOAD: ((0b1000, 1),)}, 5.0)


@pytest.fixture
def isa(db) -> ISA:
    return toy_isa()


@pytest.fixture
def row(isa: ISA) -> PortMapping:
    return explained_mapping(isa)


@pytest.fixture
def other(isa: ISA) -> PortMapping:
    return store_mapping("other", isa, OTHER, origin=PortMapping.Origin.IMPORT)


@pytest.fixture
def machine(isa: ISA) -> Machine:
    return simulated_machine(isa, TRUTH)


@pytest.fixture
def measured(row: PortMapping) -> ExperimentSet:
    """imul alone takes twice as long as the mapping says, add as long."""
    made = ExperimentSet.objects.create(name="measured", isa=row.isa, origin="upload")
    store_measurements(made, [Measured(Experiment.of([IMUL]), 2.0), Measured(Experiment.of([ADD]), 0.5)])
    evaluate(row, made)
    return made


def tab(visitor: Client, row: PortMapping, **query: object):
    return visitor.get(reverse("mapping", args=[row.pk]), {"tab": "doubts", **query})


def shown(response) -> dict[tuple[str, str], list[object]]:
    """{(kind, scheme): cells} of a page's rows."""
    kinds = {label: kind.value for kind, label in LABELS.items()}
    rows = [[value for _, value in cells] for cells, _ in response.context["rows"]]
    return {(kinds[cells[0]], cells[1]): cells for cells in rows}


def conflicts_about(row: PortMapping, other: PortMapping, scheme: str) -> list[Doubt]:
    return [doubt for doubt in doubts_of(row, other).of(scheme) if doubt.kind is DoubtKind.CONFLICT]


def ask(visitor: Client, row: PortMapping, wish: str, scheme: str, **fields: object):
    number = row.isa.schemes.get(text=scheme).pk
    return visitor.post(
        reverse("mapping-doubts-measure", args=[row.pk]), {"ask": f"{wish}:{number}", **fields}
    )


def test_all_four_kinds_are_listed_with_their_evidence(
    visitor: Client, row: PortMapping, other: PortMapping, measured: ExperimentSet
):
    response = tab(visitor, row, **{"with": other.pk})
    assert response.status_code == 200
    rows = shown(response)
    assert {("excluded", BSF), ("excluded", DIV), ("ambiguous", CMOV), ("ambiguous", ADD_LOAD)} <= set(rows)
    assert {("mispredicted", IMUL), ("conflict", IMUL), ("conflict", LOAD)} <= set(rows)
    assert ("mispredicted", ADD) not in rows
    assert "1.48 µops beside imul" in rows["excluded", BSF][WHY]
    assert rows["mispredicted", IMUL][WHY] == "50 % off on average over 1 experiment, predictions too short"
    bsf = row.isa.schemes.get(text=BSF).pk
    assert rows["excluded", BSF][1].url == reverse("scheme", args=[bsf])
    assert rows["excluded", BSF][WHY].url == reverse("scheme-proof", args=[row.pk, bsf])
    for cells in rows.values():
        assert visitor.get(cells[WHY].url).status_code == 200, cells


def test_what_would_decide_is_told_with_both_predictions_and_the_measurement(
    visitor: Client, row: PortMapping, other: PortMapping
):
    decides = shown(tab(visitor, row, **{"with": other.pk}))["conflict", IMUL][DECIDES]
    assert decides.note.endswith("not measured yet")
    assert visitor.get(decides.url).status_code == 200
    (decision,) = decisions(row, other, conflicts_about(row, other, IMUL)).values()
    experiment = decision.distinction.experiment
    assert str(experiment) == decides
    assert IMUL in experiment.schemes
    made = ExperimentSet.objects.create(name="later", isa=row.isa, origin="upload")
    store_measurements(made, [Measured(experiment, decision.distinction.first)])
    response = tab(visitor, row, **{"with": other.pk})
    assert f"measured {decision.distinction.first:.2f}" in shown(response)["conflict", IMUL][DECIDES].note
    assert "nearer to here" in response.content.decode()


def test_the_list_is_filtered_searched_and_saved(
    visitor: Client, row: PortMapping, other: PortMapping, measured: ExperimentSet
):
    only = tab(visitor, row, kind="excluded")
    assert {kind for kind, _ in shown(only)} == {"excluded"}
    assert {scheme for _, scheme in shown(tab(visitor, row, q="mnemonic:imul"))} <= {
        text for text in row.isa.schemes.values_list("text", flat=True) if text.startswith("imul")
    }
    assert ("mispredicted", IMUL) not in shown(tab(visitor, row, over="60"))
    assert tab(visitor, row, q="colour:red").status_code == 400
    saved = visitor.get(only.context["csv_url"])
    lines = [line for line in saved.content.decode().splitlines() if not line.startswith("#")]
    table = list(csv.DictReader(io.StringIO("\n".join(lines))))
    assert {line["scheme"] for line in table} == {BSF, DIV}
    assert all(line["kind"] == "excluded" for line in table)


@pytest.mark.parametrize(("query", "name"), [("with=x", "with"), ("by=999", "by"), ("over=nan", "over")])
def test_what_is_wrong_is_told_in_the_words_of_the_address(
    visitor: Client, row: PortMapping, query: str, name: str
):
    answer = visitor.get(f"{reverse('mapping', args=[row.pk])}?tab=doubts&{query}")
    assert answer.status_code == 400
    assert f"{name}: " in answer.content.decode()


@pytest.mark.parametrize("query", ["with=x", "by=999", "over=-1", "over=nan", "kind=odd", "with=999999"])
def test_a_strange_address_is_answered_with_what_is_wrong(visitor: Client, row: PortMapping, query: str):
    response = visitor.get(f"{reverse('mapping', args=[row.pk])}?tab=doubts&{query}")
    assert response.status_code in (400, 404)


def test_a_doubt_is_measured_again_on_a_machine(visitor: Client, row: PortMapping, machine: Machine):
    answer = ask(visitor, row, "again:excluded", BSF, machine=machine.pk)
    run = Run.objects.get()
    assert answer.url == reverse("run", args=[run.pk])
    assert run.config["machine"] == machine.pk
    assert run.config["plan"] == "listed"
    experiments = run.config["experiments"]
    assert BSF in experiments
    assert f"{BSF}; 10*{IMUL}" in experiments
    assert run.config["repeats"] == 5


def test_the_experiment_that_would_decide_is_measured(
    visitor: Client, row: PortMapping, other: PortMapping, machine: Machine
):
    decides = shown(tab(visitor, row, **{"with": other.pk}))["conflict", IMUL][DECIDES]
    ask(visitor, row, "decide:conflict", IMUL, machine=machine.pk, **{"with": other.pk})
    assert Run.objects.get().config["experiments"] == [decides]


def test_badly_predicted_experiments_are_measured_again(
    visitor: Client, row: PortMapping, measured: ExperimentSet, machine: Machine
):
    ask(visitor, row, "again:mispredicted", IMUL, machine=machine.pk)
    assert Run.objects.get().config["experiments"] == [IMUL]


def test_without_a_machine_the_page_says_what_is_missing(visitor: Client, row: PortMapping, isa: ISA):
    text = tab(visitor, row).content.decode()
    assert "there is no machine of toy, add one" in text
    assert "disabled" in text
    Machine.objects.create(name="far", kind="agent", isa=isa, facts={"cpu": "x"}, state="idle")
    assert "the agent of &#x27;far&#x27; is not connected" in tab(visitor, row).content.decode()
    answer = ask(visitor, row, "again:excluded", BSF)
    assert [str(each) for each in get_messages(answer.wsgi_request)] == [
        "The measurement was not started: no machine for toy is connected."
    ]
    assert not Run.objects.exists()


@pytest.mark.parametrize("wish", ["again:excluded", "again:odd", "guess:excluded"])
def test_a_wish_about_nothing_doubtful_is_refused(
    visitor: Client, row: PortMapping, machine: Machine, wish: str
):
    assert ask(visitor, row, wish, LOAD, machine=machine.pk).status_code in (400, 404)
    assert not Run.objects.exists()


def test_what_a_search_left_open_is_ambiguous_and_what_clashed_excluded(isa: ISA):
    told = {
        "verdict": "ambiguous", "limit": "", "more_alternatives": False, "counter_examples": 1,
        "solver": "z3", "epsilon": 0.02, "r_max": None, "max_length": 5, "seconds": 1.0,
        "searching_seconds": 0.5,
        "experiments": [{"terms": [[ADD, 1], [IMUL, 1]], "cycles": 1.0, "state": "settled"}],
        "alternatives": [{"usage": {ADD: [[0b0001, 1]]}, "hidden": "noise"}],
        "clashes": [{"dropped": [DIV], "text": "div alone 40", "experiments": [], "alone": [], "ports": 4}],
    }  # fmt: skip
    row = store_mapping("searched", isa, TRUTH, origin=PortMapping.Origin.RUN, report={SEARCHED: told})
    ambiguous, excluded = doubts_of(row).rows
    assert (ambiguous.kind.value, ambiguous.scheme, ambiguous.alternatives) == (
        "ambiguous",
        ADD,
        (((0b0001, 1),),),
    )
    assert (excluded.kind.value, excluded.scheme) == ("excluded", DIV)
    assert "div alone 40" in excluded.words


def test_the_page_takes_a_bounded_number_of_queries(
    visitor: Client,
    row: PortMapping,
    other: PortMapping,
    measured: ExperimentSet,
    machine: Machine,
    django_assert_max_num_queries: DjangoAssertNumQueries,
):
    with django_assert_max_num_queries(MAX_QUERIES):
        tab(visitor, row, **{"with": other.pk})


def test_a_reason_that_many_schemes_share_stands_once(
    row: PortMapping, visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows refer to it by number, behind the schemes with reasons of their own."""
    monkeypatch.setattr(doubts, "MANY", 2)
    characterised = row.characterisations.filter(scheme__text__in=[ADD, IMUL, CMOV])
    assert characterised.update(doubts=["hidden beside the bottleneck"]) == 3
    row.characterisations.filter(scheme__text=CMOV).update(
        doubts=["hidden beside the bottleneck", "R_max; odd"]
    )
    answer = visitor.get(reverse("mapping", args=[row.pk]), {"tab": "doubts", "kind": "ambiguous"})
    assert answer.context["shared_reasons"] == {"hidden beside the bottleneck": 3}
    assert answer.content.decode().count("idden beside the bottleneck") == 1
    why = {str(cells[1][1]): str(cells[WHY][1]) for cells, _ in answer.context["rows"]}
    assert why[ADD].endswith("reason 1")
    assert "R_max; odd; reason 1" in why[CMOV]
    assert list(why).index(CMOV) < list(why).index(ADD)

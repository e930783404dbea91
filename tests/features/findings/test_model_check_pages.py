"""The check of the port mapping model in the browser: its form, its run's page, its files."""

from __future__ import annotations

import csv
import dataclasses
import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.mapping import uops_of
from inference.core.model_check import MIX_LENGTHS
from inference.features.running.runs.kind_presentation import config_lines
from inference.models import ISA, Machine, PortMapping, Run
from inference.runs import lifecycle
from inference.storage.mappings import store_mapping
from tests.runs.agents import TRUTH, do, make_machine, put_agent

ASKED = {
    "selection": "filter",
    "filter": "a",
    "mixes": "4",
    "sequences": "3",
    "permutations": "2",
    "seed": "7",
}


@pytest.fixture
def machine(db: None) -> Machine:
    return make_machine()


@pytest.fixture
def reference(machine: Machine) -> PortMapping:
    """Wrong about `mul`, silent about `load`."""
    usage = {**TRUTH.usage, "mul": uops_of([(0b11, 1)])}
    del usage["load"]
    value = dataclasses.replace(TRUTH, usage=usage)
    return store_mapping("documented <b>", machine.isa, value, origin=PortMapping.Origin.IMPORT)


@pytest.fixture
def checked(machine: Machine, reference: PortMapping, monkeypatch: pytest.MonkeyPatch) -> Run:
    put_agent(monkeypatch, noise=0.01)
    config = {"machine": machine.pk, "schemes": "all", "reference": reference.pk}
    return do("check-model", {**config, "mixes": 6, "sequences": 3, "permutations": 3})


def page(visitor: Client, run: Run, **asked: str) -> str:
    return visitor.get(reverse("run", args=[run.pk]), asked).text


def figures(text: str) -> dict[str, dict]:
    found = re.search(r'<script id="model-figures" type="application/json">(.*?)</script>', text)
    assert found is not None
    return json.loads(found[1])


def test_the_page_shows_every_table_and_heat_map(visitor: Client, checked: Run):
    text = page(visitor, checked)
    assert "6 of 7" in text, "load is not described, crash not measured, mul is off"
    assert "documented &lt;b&gt;" in text
    drawn = figures(text)
    assert drawn.keys() == {"short", "full", "mixes"}
    assert drawn["full"]["scores"]["n"] == 7
    assert drawn["mixes"]["figure"]["layout"]["xaxis"]["title"]["text"] == "measured (cycles per instruction)"
    assert "Mixes of 20 instructions" in text
    assert figures(page(visitor, checked, length="2"))["mixes"] != drawn["mixes"]
    assert text.count("Export") == 3
    assert visitor.get(reverse("run", args=[checked.pk]), {"length": "7"}).status_code == 400


def test_discrepancies_stand_with_both_numbers_and_a_link(visitor: Client, checked: Run):
    text = page(visitor, checked)
    row = re.search(r'<tr><th scope="row"[^>]*><a href="([^"]+)">mul</a>.*?</tr>', text, re.DOTALL)
    assert row is not None
    assert visitor.get(row[1]).status_code == 200
    assert "0.500" in row[0]
    assert "slower than modelled" in row[0]
    assert re.search(r'data-label="Cycles measured" class="num">(0\.9|1\.0)', row[0])
    assert "the reference does not describe it" in page(visitor, checked, show="not described")
    assert '<p class="muted">None.</p>' in page(visitor, checked, q="alu")
    assert 'role="alert"' in page(visitor, checked, q="nonsense:1")


def test_every_table_is_a_file(visitor: Client, checked: Run):
    tables = {}
    for name in ("schemes", "mixes", "orders"):
        answer = visitor.get(reverse(f"run-{name}-csv", args=[checked.pk]))
        assert answer.headers["Content-Disposition"] == f'attachment; filename="a-run-{name}.csv"'
        lines = answer.text.splitlines()
        assert lines[0].startswith("# made by: pmweb")
        tables[name] = list(csv.DictReader(line for line in lines if line[0] != "#"))
    assert {row["scheme"]: row["verdict"] for row in tables["schemes"]}["mul"] == "discrepancy"
    assert [row["instructions"] for row in tables["mixes"]] == [str(length) for length in MIX_LENGTHS]
    assert all(float(row["MAPE %"]) < 5 for row in tables["mixes"])
    assert [float(row["largest CPI"]) for row in tables["orders"]] == [0.0] * 10


@pytest.mark.django_db
def test_without_a_reference_mixes_have_no_scores(
    visitor: Client, machine: Machine, monkeypatch: pytest.MonkeyPatch
):
    put_agent(monkeypatch, noise=0.001)
    config = {"machine": machine.pk, "schemes": "all", "reference": None}
    run = do("check-model", {**config, "mixes": 6, "sequences": 3, "permutations": 3})
    shown = visitor.get(reverse("run", args=[run.pk])).context["mixes"]
    settled = [cells[2][1] for cells, _ in shown["rows"]]
    assert settled == [8, *[6] * (len(MIX_LENGTHS) - 1)]
    assert {cells[3][1] for cells, _ in shown["rows"]} == {None}


def test_a_run_that_has_not_begun_says_what_will_come(
    visitor: Client, machine: Machine, reference: PortMapping
):
    run = lifecycle.submit("check-model", {"machine": machine.pk, "reference": reference.pk}, "waits")
    text = page(visitor, run)
    assert "Appears with the first schemes" in text
    assert figures(text) == {}
    told = {item.label: item.text or item.links[0].text for item in config_lines(run)}
    assert told["Reference"] == "documented <b>"
    assert told["Orders"] == "50 mixes of each length in up to 5 orders"


def test_the_list_of_runs_sums_it_up(visitor: Client, checked: Run):
    assert "6 of 7 schemes within 10 % of the model" in visitor.get(reverse("runs")).text
    assert reverse("check-model") in visitor.get(reverse("runs")).text


def test_the_form_starts_from_the_machine_that_leads_there(visitor: Client, machine: Machine):
    Machine.objects.filter(pk=machine.pk).update(
        facts={**machine.facts, "vendor": "AuthenticAMD", "family": 25, "model": 1}
    )
    zen = store_mapping("uops.info, Zen", machine.isa, TRUTH, origin=PortMapping.Origin.IMPORT)
    right = store_mapping("uops.info, Zen 3", machine.isa, TRUTH, origin=PortMapping.Origin.IMPORT)
    url = f"{reverse('check-model')}?machine={machine.pk}"
    assert url in visitor.get(reverse("machine", args=[machine.pk])).text
    form = visitor.get(url).context["form"]
    assert (form["machine"].value(), form["reference"].value()) == (machine.pk, right.pk)
    assert zen != right


def test_the_form_starts_a_run(visitor: Client, machine: Machine, reference: PortMapping):
    data = {**ASKED, "machine": machine.pk, "reference": reference.pk, "press": "start"}
    answer = visitor.post(reverse("check-model"), data)
    run = Run.objects.get()
    assert answer.headers["Location"] == reverse("run", args=[run.pk])
    assert (run.kind, run.config["reference"]) == ("check-model", reference.pk)
    assert [run.config[name] for name in ("mixes", "sequences", "permutations", "seed")] == [4, 3, 2, 7]
    assert run.config["scheme_filter"] == "a"


def test_a_wrong_form_starts_nothing_and_says_why(visitor: Client, machine: Machine):
    other = ISA.objects.create(name="other")
    foreign = store_mapping(
        "foreign", other, dataclasses.replace(TRUTH, usage={}), origin=PortMapping.Origin.IMPORT
    )
    data = {**ASKED, "machine": machine.pk, "reference": foreign.pk, "mixes": "-1", "press": "start"}
    answer = visitor.post(reverse("check-model"), data)
    assert answer.status_code == 400
    assert "It is for other, but the machine is for toy." in answer.text
    assert "greater than or equal to 0" in answer.text
    assert not Run.objects.exists()


def test_an_estimate_counts_what_will_be_measured(visitor: Client, machine: Machine):
    Machine.objects.filter(pk=machine.pk).update(rate=100)
    answer = visitor.post(reverse("check-model"), {**ASKED, "machine": machine.pk, "press": "estimate"})
    estimate = answer.context["estimate"]
    # 8 lengths of 4 mixes, 10 lengths of 3 mixes in two orders
    assert estimate.effort.experiments == estimate.schemes + 32 + 60
    assert not Run.objects.exists()


def test_without_a_machine_the_page_says_what_to_do(visitor: Client, db: None):
    assert reverse("machine-add") in visitor.get(reverse("check-model")).text

"""The scheme table with the numbers of CPUs: filters, orders, CSV and API."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from inference.core.mapping import PortMapping as Value
from inference.features.library.instruction import cpus
from inference.isa.x86.scheme_set import schemes_of
from inference.models import ISA, LatencySet, Machine, PortMapping, SchemeLatencies, StoredCoreModel
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping

ADD, IMUL, SUB = (f"{name} GPR[64]:RW, GPR[64]:R" for name in ("add", "imul", "sub"))


@pytest.fixture
def isa(db: None) -> ISA:
    return store_isa("x86-64", [row for name in ("add", "imul", "sub") for row in schemes_of(name)], "some")


@pytest.fixture
def lab(isa: ISA, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A computer that knows two schemes, beside an imported mapping; without the gallery."""
    monkeypatch.setattr(cpus, "recorded_cores", tuple)
    machine = Machine.objects.create(name="lab", kind="agent", isa=isa, local=True, facts={})
    value = Value(ports=("0", "1", "5"), usage={ADD: ((0b011, 1),), IMUL: ((0b100, 1),)})
    mapping = store_mapping("ports", isa, value, origin=PortMapping.Origin.RUN, machine=machine)
    latencies = LatencySet.objects.create(name="chains", isa=isa, machine=machine)
    pair = {"source": "2", "destination": "1", "least": 3.0, "most": 4.0, "at_most": None, "why": ""}
    SchemeLatencies.objects.create(
        latency_set=latencies,
        scheme=isa.schemes.get(text=IMUL),
        pairs=[{**pair, "breaks": False, "throughput_limited": False, "values": []}],
        isolated=1,
        least=3.0,
        most=4.0,
    )
    StoredCoreModel.objects.create(
        name="lab", isa=isa, machine=machine, mapping=mapping, latencies=latencies, port_names={"5": "MUL"}
    )
    other = Value(ports=("a", "b"), usage={ADD: ((0b01, 1),), SUB: ((0b11, 1),)})
    store_mapping("a file", isa, other, origin=PortMapping.Origin.IMPORT, source="a.xml")
    return machine


def shown(visitor: Client, isa: ISA, **query: Any) -> list[str]:
    answer = visitor.get(reverse("isa", args=[isa.pk]), query)
    assert answer.status_code == 200
    return [row.text for row in answer.context["page"].rows]


def test_without_a_search_the_table_has_what_a_cpu_knows_best_known_first(
    visitor: Client, isa: ISA, lab: Machine
):
    assert shown(visitor, isa) == [ADD, IMUL, SUB]
    assert len(shown(visitor, isa, show="all")) > 20
    assert len(shown(visitor, isa, q="sub r64")) > 3


def test_a_cell_has_ports_by_their_labels_cycles_and_the_range_of_latencies(
    visitor: Client, isa: ISA, lab: Machine
):
    page = visitor.get(reverse("isa", args=[isa.pk]), {"cpu": f"m{lab.pk}", "q": "imul"}).text
    assert ">MUL<" in page
    assert "(1.00)" in page  # predicted, since it was not measured alone
    assert "3.0–4.0" in page


def test_schemes_are_sorted_by_the_number_of_a_cpu_with_unknown_ones_last(
    visitor: Client, isa: ISA, lab: Machine
):
    key = f"m{lab.pk}"
    assert shown(visitor, isa, sort=f"{key}.cycles") == [ADD, IMUL, SUB]
    assert shown(visitor, isa, sort=f"-{key}.cycles") == [IMUL, ADD, SUB]
    assert shown(visitor, isa, sort="-m999.cycles") == [ADD, IMUL, SUB]


def test_only_schemes_that_differ_or_use_a_port(visitor: Client, isa: ISA, lab: Machine):
    assert shown(visitor, isa, show="differing") == [ADD]  # 0.5 cycles against 1
    key = f"m{lab.pk}"
    assert shown(visitor, isa, cpus=key, port="MUL") == shown(visitor, isa, cpus=key, port="5") == [IMUL]


@pytest.mark.parametrize(
    "query", ["cpu=m999", "cpus=m1,x", "show=best", "port=5", "port=17&cpu=m{}", "cpus=m1,p1,p2,p3,p4"]
)
def test_what_no_cpu_has_is_refused(visitor: Client, isa: ISA, lab: Machine, query: str):
    for name in ("isa", "isa-csv"):
        assert visitor.get(f"{reverse(name, args=[isa.pk])}?{query.format(lab.pk)}").status_code == 400


def test_the_csv_has_all_rows_of_the_table(visitor: Client, isa: ISA, lab: Machine):
    text = visitor.get(reverse("isa-csv", args=[isa.pk]), {"cpu": f"m{lab.pk}"}).text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = {row["scheme"]: row for row in csv.DictReader(StringIO("\n".join(lines)))}
    assert set(rows) == {ADD, IMUL}
    assert rows[IMUL]["lab: ports"] == "1×[MUL]"
    assert rows[IMUL]["lab: cycles are"] == "predicted"
    assert float(rows[IMUL]["lab: latency most"]) == 4.0


def test_the_api_has_the_numbers_of_the_cpus_that_are_asked_for(visitor: Client, isa: ISA, lab: Machine):
    address = f"/api/v1/isas/{isa.pk}/schemes"
    plain = visitor.get(address, {"q": "imul r64"}).json()
    assert all(row["cpus"] == [] for row in plain["items"])
    answer = visitor.get(address, {"cpus": f"m{lab.pk}", "show": "known"}).json()
    by_text = {row["text"]: row["cpus"][0] for row in answer["items"]}
    assert set(by_text) == {ADD, IMUL}
    assert by_text[IMUL]["uops"] == [{"count": 1, "ports": ["5"]}]
    assert (by_text[IMUL]["latency_least"], by_text[IMUL]["latency_most"]) == (3.0, 4.0)

"""Sets of latencies side by side: the page, programs, the shell, a file; and a set as XML."""

from __future__ import annotations

import csv
import json
from io import StringIO
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from inference.core.latency import LatencyProblem, infer_latencies
from inference.core.mapping import PortMapping as Mapping
from inference.features.judging.comparing.latencies import (
    KnownLatency,
    LatencyRelation,
    SharedScheme,
    comparison_of_latencies,
    relation_of,
)
from inference.formats.measured_rows import LARGEST_OF_SOURCES
from inference.formats.problems import ExchangeError
from inference.isa.x86.chains import links_of, pair_chains
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.simulated_chains import SimulatedLatencies, sampled_latencies
from inference.models import ISA, LatencySet, Machine
from inference.storage.instruction_sets import new_isa, store_isa
from inference.storage.latencies import store_latencies
from tests.doors import printed
from tests.drawn import examples
from tests.rows.library import visitor
from tests.simulated import simulated_machine

__all__ = ["visitor"]

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:W, GPR[64]:R, IMM[8]:R"
LOAD, COMPARE = "mov GPR[64]:W, MEM[64]:R", "vcomisd XMM:R, XMM:R"
SCHEMES = (ADD, IMUL, LOAD, COMPARE)


@pytest.fixture
def isa(db: None) -> ISA:
    found = [scheme_and_form(text) for text in SCHEMES]
    return store_isa("x86-64", [one[0] for one in found if one is not None], "a test")


@pytest.fixture
def machine(isa: ISA) -> Machine:
    return simulated_machine(isa, Mapping(("0",), dict.fromkeys(SCHEMES, ((1, 1),))))


@pytest.fixture
def first(machine: Machine) -> LatencySet:
    return a_set(machine, "first", SCHEMES[:3])


@pytest.fixture
def second(machine: Machine) -> LatencySet:
    """Like the first, but the multiplication takes two cycles longer."""
    row = a_set(machine, "second", SCHEMES[1:])
    imul = row.schemes.get(scheme__text=IMUL)
    for pair in imul.pairs:
        if pair["least"] is not None:
            pair["least"], pair["most"] = pair["least"] + 2, pair["most"] + 2
    imul.save()
    return row


def a_set(machine: Machine, name: str, schemes: tuple[str, ...]) -> LatencySet:
    pairs = [pair_chains(link) for text in schemes for link in links_of(text)]
    found = infer_latencies(LatencyProblem(pairs, []), SimulatedLatencies(sampled_latencies(3)))
    return store_latencies(name, machine, found, {})


def known(least: float | None = None, most: float | None = None, **others: Any) -> KnownLatency:
    given = {"at_most": None, "why": "", "throughput_limited": False, "breaks": False, **others}
    return KnownLatency(least, least if most is None else most, **given)


@pytest.mark.parametrize(
    ("here", "there", "relation", "difference"),
    [
        (known(1.0), known(1.1), "same", 0.1),
        (known(1.0), known(1.11), "different", 0.11),
        (known(1.0, 2.0), known(1.5, 3.0), "same", 0.0),
        (known(1.0, 2.0), known(2.5), "different", 0.5),
        (known(40.0), known(40.7), "same", 0.7),
        (known(40.0), known(41.0), "different", 1.0),
        (known(breaks=True), known(1.0), "different", 1.0),
        (known(breaks=True), known(0.0), "same", 0.0),
        (known(at_most=4.0), known(3.0), "unknown", None),
        (known(at_most=4.0), known(5.0), "different", 1.0),
        (known(at_most=4.0), known(at_most=9.0), "unknown", None),
        (known(), known(5.0), "unknown", None),
        (None, known(5.0), "unknown", None),
    ],
)
def test_latencies_differ_where_they_are_further_apart_than_noise(
    here: KnownLatency | None, there: KnownLatency | None, relation: str, difference: float | None
) -> None:
    for pair in ((here, there), (there, here)):
        assert relation_of(pair) == (relation, difference)


def test_schemes_are_counted_by_what_they_have_in_common(first: LatencySet, second: LatencySet) -> None:
    found = comparison_of_latencies(first, second)
    assert [one.scheme for one in found.schemes] == sorted((IMUL, LOAD))
    assert found.counts() == {"shared": 2, "different": 1, "same": 1, "unknown": 0}
    assert found.only == (1, 1)


def test_sets_of_different_instruction_sets_are_not_compared(first: LatencySet, visitor: Client) -> None:
    toy = new_isa("toy", ["a"], "a test")
    other = LatencySet.objects.create(name="toy", isa=toy, machine=first.machine)
    with pytest.raises(ExchangeError, match="the same instruction set can be compared"):
        comparison_of_latencies(first, other)
    page = visitor.get(reverse("latencies-compare"), two(first, other))
    assert "No other set of x86-64 yet" in page.text
    answer = visitor.get(f"/api/v1/latencies/{first.pk}/compare/{other.pk}")
    assert answer.status_code == 422
    with pytest.raises(CommandError, match="the same instruction set can be compared"):
        call_command("latencies", "--show", first.name, "--compare", other.name, stdout=StringIO())


def two(first: LatencySet, second: LatencySet) -> dict[str, int]:
    return {"first": first.pk, "second": second.pk}


def test_the_page_has_both_beside_each_other(visitor: Client, first: LatencySet, second: LatencySet) -> None:
    address = reverse("latencies-compare")
    assert address in visitor.get(reverse("latencies")).text
    assert f"{address}?first={first.pk}" in visitor.get(reverse("latency-set", args=[first.pk])).text
    assert "No sets chosen" in visitor.get(address).text
    assert "Choose the other set" in visitor.get(address, {"first": first.pk}).text
    page = visitor.get(address, two(first, second))
    assert [row.scheme for row in page.context["page"].rows] == [IMUL, LOAD]
    assert page.text.count('<span class="badge">≠</span>') == 1
    assert listed(visitor.get(address, {**two(first, second), "sort": "scheme"})) == sorted((IMUL, LOAD))
    assert listed(visitor.get(address, {**two(first, second), "show": "different"})) == [IMUL]
    assert listed(visitor.get(address, {**two(first, second), "q": "mov"})) == [LOAD]
    none = visitor.get(address, {**two(first, second), "q": "mov", "show": "different"})
    assert "No scheme that differs matches" in none.text


def listed(page: Any) -> list[str]:
    return [row.scheme for row in page.context["page"].rows]


@pytest.mark.parametrize(
    ("wrong", "status"),
    [({"q": "width:x"}, 400), ({"show": "x"}, 400), ({"page": "x"}, 400), ({"second": 10**9}, 404)],
)
def test_wrong_addresses_are_refused(
    visitor: Client, first: LatencySet, second: LatencySet, wrong: dict[str, Any], status: int
) -> None:
    asked = {**two(first, second), **wrong}
    assert visitor.get(reverse("latencies-compare"), asked).status_code == status


def test_the_number_of_queries_does_not_grow_with_the_schemes(
    visitor: Client, machine: Machine, first: LatencySet
) -> None:
    counted = []
    for size in (2, 1, 3):  # what the first says is looked up once
        other = a_set(machine, f"of {size}", SCHEMES[:size])
        with CaptureQueriesContext(connection) as queries:
            visitor.get(reverse("latencies-compare"), two(first, other))
        counted.append(len(queries))
    assert counted[1] == counted[2]


def test_programs_compare(visitor: Client, first: LatencySet, second: LatencySet) -> None:
    address = f"/api/v1/latencies/{first.pk}/compare/{second.pk}"
    answer = visitor.get(address).json()
    assert [one["scheme"] for one in answer["items"]] == [IMUL, LOAD]
    assert (answer["shared"], answer["different"], answer["only"]) == (2, 1, [1, 1])
    assert [one["name"] for one in answer["sets"]] == ["first", "second"]
    (pair,) = [one for one in answer["items"][0]["pairs"] if one["relation"] == "different"]
    assert pair["difference"] == pair["said"][1]["least"] - pair["said"][0]["least"] == 2
    only = visitor.get(address, {"different": "true", "q": "imul"}).json()
    assert (only["total"], only["items"][0]["scheme"]) == (1, IMUL)
    paged = visitor.get(address, {"limit": 1, "sort": "scheme"}).json()
    following = visitor.get(address, {"limit": 1, "sort": "scheme", "cursor": paged["next"]}).json()
    assert [paged["items"][0]["scheme"], following["items"][0]["scheme"]] == sorted((IMUL, LOAD))
    assert visitor.get(address, {"q": "width:x"}).status_code == 422


def test_the_shell_compares(first: LatencySet, second: LatencySet) -> None:
    counts, *pairs = printed("latencies", "--show", "first", "--compare", "second").splitlines()
    assert counts.startswith(
        "2 schemes in both: 1 the same, 1 different, 0 not comparable; 1 only in 'first'"
    )
    (different,) = [line.split("  ") for line in pairs if "≠" in line]
    assert [cell.strip() for cell in different if cell][:2] == [IMUL, "2 → 1"]
    answer = json.loads(printed("latencies", "--show", "first", "--compare", "second", "--json"))
    assert (answer["sets"], answer["different"], answer["only"]) == (["first", "second"], 1, [1, 1])
    assert [one["scheme"] for one in answer["differences"]] == [IMUL]
    assert printed("judge", "latencies:first", "latencies:second", "--json") == json.dumps(answer) + "\n"
    with pytest.raises(CommandError, match="no latency set named"):
        call_command("latencies", "--show", "first", "--compare", "third", stdout=StringIO())


@pytest.fixture
def third(machine: Machine) -> LatencySet:
    """Like the first, with all schemes."""
    return a_set(machine, "third", SCHEMES)


def test_more_sets_stand_side_by_side(
    visitor: Client, first: LatencySet, second: LatencySet, third: LatencySet
) -> None:
    found = comparison_of_latencies(first, second, third)
    assert [one.scheme for one in found.schemes] == sorted(SCHEMES)
    assert found.only == (0, 0, 0)
    (imul,) = [one for one in found.schemes if one.scheme == IMUL]
    assert (imul.relation, imul.difference) == ("different", 2)
    (add,) = [one for one in found.schemes if one.scheme == ADD]
    assert add.relation == "same"
    assert all(pair.said[1] is None for pair in add.pairs)  # which the second lacks
    asked = {**two(first, second), "also": [third.pk, ""]}
    page = visitor.get(reverse("latencies-compare"), asked)
    assert page.text.count(f"/latencies/{third.pk}/schemes/") >= 4
    assert f'<option value="{third.pk}" selected>' in page.text
    told = visitor.get(f"/api/v1/latencies/{first.pk}/compare/{second.pk}", {"also": third.pk}).json()
    assert [one["name"] for one in told["sets"]] == ["first", "second", "third"]
    assert (told["shared"], len(told["items"][0]["pairs"][0]["said"])) == (4, 3)
    out = printed("latencies", "--show", "first", "--compare", "second", "third")
    assert out.startswith("4 schemes in several: ")
    assert IMUL in out


def test_a_page_offers_no_set_twice(
    visitor: Client, first: LatencySet, second: LatencySet, third: LatencySet
) -> None:
    address = reverse("latencies-compare")
    offered = visitor.get(address, two(first, second))
    assert offered.context["compared"] == [first, second]
    assert [choice[-2:] for choice in offered.context["choices"]] == [
        ([third, second], second),
        ([third], None),
    ]
    full = visitor.get(address, {**two(first, second), "also": [third.pk, third.pk, first.pk]})
    assert full.context["compared"] == [first, second, third]
    assert [choice[-1] for choice in full.context["choices"]] == [second, third]
    with pytest.raises(ExchangeError, match="2 to 6 different sets"):
        comparison_of_latencies(first, first)
    same = visitor.get(f"/api/v1/latencies/{first.pk}/compare/{first.pk}")
    assert same.status_code == 422


@examples(60)
@given(st.lists(st.tuples(st.floats(0, 60), st.floats(0, 60)).map(sorted), min_size=2, max_size=4))
def test_sets_differ_where_any_two_of_them_do(ranges: list[list[float]]) -> None:
    several = [known(*each) for each in ranges]
    relation, difference = relation_of(tuple(several))
    each_two = [relation_of(pair) for pair in combinations(several, 2)]
    assert (relation == "different") == any(relation == "different" for relation, _ in each_two)
    assert difference == max(apart for _, apart in each_two if apart is not None)


def test_the_table_is_a_file_too(visitor: Client, first: LatencySet, second: LatencySet) -> None:
    page = visitor.get(reverse("latencies-compare"), two(first, second))
    address = f"{reverse('latencies-compare-csv')}?first={first.pk}&amp;second={second.pk}"
    assert address in page.text
    file = visitor.get(reverse("latencies-compare-csv"), two(first, second))
    lines = [line for line in file.text.splitlines() if not line.startswith("#")]
    assert lines[0].startswith("scheme,source,destination,relation,difference,first: least,first: most")
    (imul,) = [row for row in csv.DictReader(lines) if row["scheme"] == IMUL and row["difference"]]
    assert (imul["relation"], float(imul["second: least"]) - float(imul["first: least"])) == ("different", 2)
    assert visitor.get(reverse("latencies-compare-csv"), {"first": first.pk}).status_code == 400
    assert visitor.get(reverse("latencies-compare-csv"), {"first": "x"}).status_code == 400


def test_a_set_is_taken_away_as_xml_by_page_api_and_shell(
    visitor: Client, first: LatencySet, tmp_path: Path
) -> None:
    address = reverse("latency-set-export", args=[first.pk])
    assert address in visitor.get(reverse("latency-set", args=[first.pk])).text
    answer = visitor.get(address)
    assert answer["Content-Type"].startswith("application/xml")
    assert answer["Content-Disposition"] == 'attachment; filename="first.xml"'
    assert visitor.get(f"/api/v1/latencies/{first.pk}/xml").text == answer.text
    file = tmp_path / "a.xml"
    call_command("latencies", "--show", "first", "--xml", file, stdout=StringIO())
    assert file.read_text(encoding="utf-8") == answer.text
    read = ElementTree.fromstring(answer.text)
    schemes = {each.get("scheme") for each in read.iter("instruction")}
    assert schemes == {ADD, IMUL, LOAD}
    with pytest.raises(CommandError, match="need --show"):
        call_command("latencies", "--machine", "sim", "--xml", file, stdout=StringIO())


@pytest.mark.parametrize(
    ("measured", "relations", "difference"),
    [
        ((1.0, 4.0), ["unknown", "same"], 0.0),
        ((4.0, 4.02), ["same", "same"], 0.0),
        ((1.0, 3.0), ["different", "different"], 1.0),
        ((1.0, 5.0), ["unknown", "different"], 1.0),
        ((4.0, None), ["unknown", "unknown"], 0.0),
    ],
)
def test_the_largest_latency_of_several_pairs_is_compared_with_their_largest(
    measured: tuple[float, float | None], relations: list[str], difference: float
) -> None:
    bound = KnownLatency(None, None, 4.0, LARGEST_OF_SOURCES, False, False)
    exact = [KnownLatency(cycles, cycles, None, "", False, False) for cycles in measured]
    places = [("1", "1"), ("2", "1")]
    sets = [dict.fromkeys(places, bound), dict(zip(places, exact, strict=True))]
    for ordered in (sets, sets[::-1]):
        scheme = SharedScheme.of(1, ADD, ordered)
        assert [str(pair.relation) for pair in scheme.pairs] == relations
        assert (scheme.difference or 0.0) == difference
        if "different" in relations:
            assert scheme.relation is LatencyRelation.DIFFERENT

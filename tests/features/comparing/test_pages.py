"""Two mappings side by side: the Compare tab, its filters, and the file."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.test import Client

from inference.core.mapping import PortMapping as Mapping
from inference.core.resources import ResourceMapping as Resources
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping, store_resource_mapping
from inference.storage.rows import scheme_ids
from tests.rows.library import ADD, IMUL, LOAD

RENAMED = Mapping(ports=("a", "b", "c"), usage={ADD: ((0b111, 1),), IMUL: ((0b100, 1),)})
DIFFERENT = Mapping(
    ports=("a", "b"), usage={ADD: ((0b01, 1),), IMUL: ((0b10, 1),), LOAD: ((0b11, 1),)}, r_max=4
)


def other(mapping: PortMapping, value: Mapping, name: str = "the other") -> PortMapping:
    return store_mapping(name, mapping.isa, value, origin=PortMapping.Origin.IMPORT)


def compared(visitor: Client, mapping: PortMapping, with_: PortMapping, query: str = "") -> Any:
    response = visitor.get(f"/mappings/{mapping.pk}/?tab=compare&with={with_.pk}{query}")
    assert response.status_code == 200, response.status_code
    return response


def table_of(response: Any, key: str) -> Any:
    tables = (shown["table"] for shown in response.context["structure_tables"])
    return next(table for table in tables if table.key == key)


def schemes_in(response: Any) -> Any:
    return response.context["schemes"]["table"].rows


def test_without_another_mapping_the_tab_says_how_to_get_one(visitor: Client, mapping: PortMapping):
    text = visitor.get(f"/mappings/{mapping.pk}/?tab=compare").content.decode()
    assert "Nothing to compare with yet" in text


def test_the_other_mapping_is_chosen_among_those_of_the_same_instruction_set(
    visitor: Client, mapping: PortMapping
):
    there = other(mapping, RENAMED)
    toy = new_isa("toy", ["add R, R"], "by hand")
    foreign = store_mapping(
        "foreign", toy, Mapping(("p",), {"add R, R": ((1, 1),)}), origin=PortMapping.Origin.IMPORT
    )
    response = visitor.get(f"/mappings/{mapping.pk}/?tab=compare")
    assert response.context["candidates"] == [(str(there.pk), there.name)]
    assert "Choose a mapping" in response.content.decode()
    refused = visitor.get(f"/mappings/{mapping.pk}/?tab=compare&with={foreign.pk}")
    assert refused.status_code == 400
    assert visitor.get(f"/mappings/{mapping.pk}/?tab=compare&with=99999").status_code == 404
    assert visitor.get(f"/mappings/{mapping.pk}/?tab=compare&with=x").status_code == 400


def test_a_renamed_mapping_is_equal(visitor: Client, mapping: PortMapping):
    response = compared(visitor, mapping, other(mapping, RENAMED))
    assert response.context["summary"] == "Equal up to renaming ports."
    assert table_of(response, "differences").rows == ()
    assert dict(table_of(response, "ports").rows)["c"] == "p1"
    assert [row[1] for row in schemes_in(response)] == ["same", "same"]


def test_differences_come_first_and_are_summed_up(visitor: Client, mapping: PortMapping):
    response = compared(visitor, mapping, other(mapping, DIFFERENT))
    assert response.context["summary"] == (
        "1 of 2 common schemes use the same µops (50.0 %). 1 scheme only in the second. "
        "Instructions per cycle: no limit in the first, 4 in the second."
    )
    rows = [row[:2] for row in schemes_in(response)]
    assert rows == [(ADD, "different"), (LOAD, "only in the other"), (IMUL, "same")]
    assert "Instructions per cycle: no limit in the first" in response.text


def test_the_experiment_that_tells_them_apart_links_to_its_measurement(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    witness, furthest = table_of(compared(visitor, mapping, other(mapping, DIFFERENT)), "differences").rows
    assert witness[1:] == (ADD, pytest.approx(1 / 3), 1.0, 0.25, mapping.name)
    assert visitor.get(witness[1].url).context["measured"] == 0.25
    assert furthest[:2] == ("furthest apart, alone", ADD)


def test_an_experiment_that_nobody_measured_is_joined_by_one_that_was(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    """The smallest is imul alone, of which there is no measurement; of a mix with it there is one."""
    value = Mapping(ports=("x", "y"), usage={ADD: ((0b11, 1),), IMUL: ((0b01, 3),)})
    here = other(
        mapping, Mapping(ports=("x", "y"), usage={ADD: ((0b11, 1),), IMUL: ((0b01, 1), (0b10, 1))}), "h"
    )
    response = compared(visitor, here, other(mapping, value))
    smallest, measured, _ = table_of(response, "differences").rows
    assert (smallest[1], smallest[4]) == (IMUL, None)
    assert visitor.get(smallest[1].url).context["text"] == IMUL
    assert (measured[1], measured[4]) == (f"2*{ADD}; {IMUL}", 1.02)


def test_the_table_is_searched_filtered_sorted_and_paged(
    visitor: Client, mapping: PortMapping, monkeypatch: pytest.MonkeyPatch
):
    there = other(mapping, DIFFERENT)

    def shown(query: str) -> list[str]:
        return [row[0] for row in schemes_in(compared(visitor, mapping, there, query))]

    assert shown("&q=ext:X64") == [IMUL]
    assert shown("&show=only-second") == [LOAD]
    assert shown("&show=equal") == [IMUL]
    assert shown("&sort=there") == [LOAD, ADD, IMUL]
    assert shown("&sort=-text") == [LOAD, IMUL, ADD]
    assert shown("&page=1") == []
    assert visitor.get(f"/mappings/{mapping.pk}/?tab=compare&with={there.pk}&show=odd").status_code == 400
    assert visitor.get(f"/mappings/{mapping.pk}/?tab=compare&with={there.pk}&q=colour:red").status_code == 400


def test_the_file_has_every_scheme_under_the_names_of_this_mappings_ports(
    visitor: Client, mapping: PortMapping
):
    there = other(mapping, DIFFERENT)
    response = visitor.get(f"/mappings/{mapping.pk}/compare.csv?with={there.pk}")
    assert response["Content-Disposition"] == 'attachment; filename="three-ports-and-the-other.csv"'
    lines = io.StringIO(response.content.decode())
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert [row["scheme"] for row in rows] == [ADD, LOAD, IMUL]
    assert rows[0]["µops first"] == "1×[p0,p1,p5]"
    assert rows[0]["comparison"] == "different"
    assert float(rows[0]["cycles second"]) == 1.0
    assert rows[1]["µops first"] == ""
    assert rows[2]["µops first"] == rows[2]["µops second"] == "1×[p1]"
    assert visitor.get(f"/mappings/{mapping.pk}/compare.csv").status_code == 400


@pytest.fixture
def resources(mapping: PortMapping) -> ResourceMapping:
    value = Resources(("R0", "R1"), {ADD: ((0, 0.25), (1, 0.5)), LOAD: ((1, 1.0),)})
    return store_resource_mapping("palmed", mapping.isa, value, origin=ResourceMapping.Origin.IMPORT)


def test_random_experiments_are_asked_of_both_as_the_address_says(visitor: Client, mapping: PortMapping):
    there = other(mapping, DIFFERENT)
    usual = compared(visitor, mapping, there).context
    assert (usual["sampling"].experiments, usual["sampling"].unit) == (5000, "ipc")
    assert usual["deviation"].r_max == (4, 4)
    assert usual["deviation"].common == 2
    page = compared(visitor, mapping, there, "&experiments=4&length=3&seed=2&unit=cycles&r_max=2.5&sort=text")
    found = page.context["deviation"]
    assert (found.scores.n, found.r_max) == (4, (2.5, 2.5))
    assert "Heat map: 4 experiments, second against first" in page.context["deviation_map"]
    assert visitor.get(page.context["furthest_url"]).status_code == 200
    text = page.content.decode()
    assert 'placeholder="their own" value="2.5"' in text
    assert "4 random experiments of 3 from 2 common schemes, in cycles" in text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("&experiments=0", "experiments: it is less than 1; right would be at least 1"),
        ("&experiments=20001", "experiments: it is more than 20000; right would be at most 20000"),
        ("&r_max=fast", "r_max: it is not a number; right would be a number"),
        ("&r_max=nan", "R_max must be"),
        ("&length=101", "length: it is more than 100; right would be at most 100"),
    ],
)
def test_what_cannot_be_asked_is_told_beside_the_rest(
    visitor: Client, mapping: PortMapping, query: str, told: str
):
    text = compared(visitor, mapping, other(mapping, DIFFERENT), query).content.decode()
    assert told in text
    assert "1 of 2 common schemes" in text


def test_mappings_without_a_common_scheme_have_no_deviation(visitor: Client, mapping: PortMapping):
    there = other(mapping, Mapping(("a",), {LOAD: ((1, 1),)}))
    assert "both describe 0 schemes." in compared(visitor, mapping, there).content.decode()


def test_a_resource_mapping_stands_beside_with_its_loads(
    visitor: Client, mapping: PortMapping, resources: ResourceMapping
):
    address = f"/mappings/{mapping.pk}/?tab=compare&with=r{resources.pk}"
    response = visitor.get(address)
    assert response.context["summary"] == (
        "0 of 1 common schemes take as long alone, within 0.02 cycles. "
        "1 only in the first, 1 only in the second."
    )
    rows = [(*row[:2], row[3]) for row in schemes_in(response)]
    assert rows == [
        (ADD, "different", "R0: 0.25, R1: 0.5"),
        (IMUL, "only in this mapping", None),
        (LOAD, "only in the other", "R1: 1"),
    ]
    assert response.context["deviation"].common == 1
    assert [row[0] for row in schemes_in(visitor.get(f"{address}&show=only-second"))] == [LOAD]
    assert visitor.get(f"{address}&q=colour:red").status_code == 400
    assert visitor.get(f"/mappings/{mapping.pk}/compare.csv?with=r{resources.pk}").status_code == 400
    for wrong in ("r", "rx", "x1", "r-1"):
        assert visitor.get(f"/mappings/{mapping.pk}/?tab=compare&with={wrong}").status_code == 400
    assert visitor.get(f"/mappings/{mapping.pk}/?tab=compare&with=r999").status_code == 404


def test_a_scheme_that_differs_shows_the_witness_that_contradicts_the_other(
    visitor: Client, mapping: PortMapping
):
    ids = scheme_ids(mapping.isa)
    judged = mapping.characterisations.create(scheme_id=ids[ADD], outcome="characterised", stage="remaining")
    judged.witnesses.create(
        blocker_id=ids[IMUL], mask=0b010, copies=10, samples=1, below=0, uops=1, seen="uses"
    )
    judged.witnesses.create(blocker_id=ids[IMUL], mask=0b111, copies=10, samples=1, uops=9, seen="odd")
    there = other(mapping, DIFFERENT)
    response = compared(visitor, mapping, there)
    remark = next(row[1] for row in schemes_in(response) if row[0] == ADD)
    assert remark.note == f"beside 10 × {IMUL}, 1 µops cannot evade its ports, not 0"
    assert f"/mappings/{mapping.pk}/schemes/{ids[ADD]}/" in remark.url
    assert "A witness contradicts the other" in response.text


def test_a_data_set_tells_which_uops_can_be_seen(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    there = other(mapping, DIFFERENT)
    plain = compared(visitor, mapping, there)
    assert plain.context["structure"].up_to_hidden is None
    assert "of the common schemes have the same µops" in plain.text
    judged = compared(visitor, mapping, there, f"&set={experiment_set.pk}")
    assert judged.context["judged_by"] == experiment_set
    assert f"of {experiment_set.name} " in judged.text
    assert visitor.get(f"/mappings/{mapping.pk}/?tab=compare&with={there.pk}&set=99999").status_code == 404

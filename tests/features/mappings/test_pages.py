"""Port mappings: the list with its accuracy, and the three views of one."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from inference.core.experiment import Experiment, Measured
from inference.core.protocols import Json
from inference.models import ExperimentSet, Machine, PortMapping, Run
from inference.runs.lifecycle import submit
from inference.storage.evaluations import evaluate, held_out_of
from inference.storage.mappings import load_mapping, store_mapping
from inference.storage.rows import store_measurements
from tests.rows.library import ADD, IMUL
from tests.work import work_off


def page(visitor: Client, path: str) -> str:
    """The text of a page that must exist."""
    response = visitor.get(path)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def embedded(text: str, name: str) -> Json:
    """The JSON that a page hands to its script."""
    found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: Json = json.loads(found.group(1))
    return data


def test_without_mappings_the_list_says_how_to_get_one(visitor: Client):
    text = page(visitor, "/mappings/")
    assert 'href="/infer/"' in text
    assert 'href="/sets/upload/"' in text


def test_the_list_sorts_by_accuracy_and_puts_unknown_accuracy_last(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    good = store_mapping("good", mapping.isa, load_mapping(mapping), origin=PortMapping.Origin.IMPORT)
    unknown = store_mapping("unknown", mapping.isa, load_mapping(mapping), origin=PortMapping.Origin.IMPORT)
    evaluate(mapping, experiment_set).__class__.objects.update(mape=30.0)
    evaluate(good, experiment_set)
    rows = visitor.get("/mappings/?sort=mape").context["rows"]
    assert [row.mapping for row in rows] == [good, mapping, unknown]
    assert rows[0].source == "small"
    assert rows[0].url == f"/mappings/{good.pk}/?tab=accuracy&set={experiment_set.pk}&unit=cycles"


def test_the_list_shows_the_accuracy_on_the_set_that_was_chosen(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    other = ExperimentSet.objects.create(name="other", isa=mapping.isa, origin="upload")
    store_measurements(other, [Measured(Experiment.of([ADD]), 1.0)])
    evaluate(mapping, experiment_set)
    evaluate(mapping, other)
    for chosen in (experiment_set, other):
        (row,) = visitor.get(f"/mappings/?on={chosen.pk}").context["rows"]
        assert row.source == chosen.name


def test_the_error_with_a_scheduler_stands_beside_that_of_ports_alone(visitor: Client, mapping: PortMapping):
    assert "Error with a scheduler" not in page(visitor, f"/mappings/{mapping.pk}/")
    mapping.report = {"scheduled_error": 0.044, "unscheduled_error": 0.051}
    mapping.save()
    text = page(visitor, f"/mappings/{mapping.pk}/")
    assert "Error with a scheduler" in text
    assert "4.4\u00a0%" in text
    assert "5.1\u00a0% by ports alone" in text


def test_the_graph_has_every_scheme_with_the_id_of_its_page(visitor: Client, mapping: PortMapping):
    text = page(visitor, f"/mappings/{mapping.pk}/")
    model = embedded(text, "graph-model")
    texts = dict(mapping.isa.schemes.values_list("pk", "text"))
    for group in model["groups"]:
        assert [texts[pk] for pk in group["ids"]] == group["schemes"]
    assert sorted(text for group in model["groups"] for text in group["schemes"]) == [ADD, IMUL]
    assert model["ports"] == ["p0", "p1", "p5"]


def test_the_facts_count_schemes_ports_uops_and_volume(visitor: Client, mapping: PortMapping):
    facts = visitor.get(f"/mappings/{mapping.pk}/").context["facts"]
    assert facts == {"schemes": 2, "ports": 3, "uop_kinds": 2, "volume": 4, "classes": 0}


def test_the_scheme_table_compares_measured_with_predicted_singletons(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    rows = {row.text: row for row in schemes(visitor, mapping)}
    assert rows[ADD].predicted == pytest.approx(1 / 3)
    assert rows[ADD].measured == 0.25
    assert rows[ADD].difference == pytest.approx(100 / 3)
    assert (rows[IMUL].measured, rows[IMUL].difference) == (None, None)
    text = page(visitor, f"/mappings/{mapping.pk}/?tab=schemes")
    assert f'href="/experiments/{rows[ADD].singleton.experiment_id}/?mapping={mapping.pk}"' in text


def schemes(visitor: Client, mapping: PortMapping, query: str = "") -> list[Any]:
    """The rows of the scheme table."""
    response = visitor.get(f"/mappings/{mapping.pk}/?tab=schemes{query}")
    return list(response.context["page"].rows)


def test_the_scheme_table_is_searched_and_sorted(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    assert [row.text for row in schemes(visitor, mapping, "&q=ext:X64")] == [IMUL]
    assert [row.text for row in schemes(visitor, mapping, "&sort=-predicted")] == [IMUL, ADD]
    assert [row.text for row in schemes(visitor, mapping, "&sort=-difference")] == [ADD, IMUL]


def test_a_search_that_cannot_be_read_is_explained(visitor: Client, mapping: PortMapping):
    response = visitor.get(f"/mappings/{mapping.pk}/?tab=schemes&q=colour:red")
    assert response.status_code == 400
    assert "colour" in response.content.decode()


def test_measured_singletons_can_be_those_of_one_set(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    other = ExperimentSet.objects.create(name="other", isa=mapping.isa, origin="upload")
    store_measurements(other, [Measured(Experiment.of([ADD]), 0.35)])
    usual = {row.text: row.measured for row in schemes(visitor, mapping)}
    one = {row.text: row.measured for row in schemes(visitor, mapping, f"&set={experiment_set.pk}")}
    assert usual[ADD] == 0.35  # the newest set, and no median over sets of several CPUs
    assert one[ADD] == 0.25


def test_a_mapping_is_compared_with_the_sets_of_its_machine_alone(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    machine = Machine.objects.create(name="own", isa=mapping.isa, kind="agent")
    PortMapping.objects.filter(pk=mapping.pk).update(machine=machine)
    own = ExperimentSet.objects.create(name="own", isa=mapping.isa, origin="run", machine=machine)
    newer = ExperimentSet.objects.create(name="newer", isa=mapping.isa, origin="upload")
    for dataset, cycles in ((own, 0.3), (newer, 0.7)):
        store_measurements(dataset, [Measured(Experiment.of([ADD]), cycles)])
    assert {row.text: row.measured for row in schemes(visitor, mapping)}[ADD] == 0.3


def test_the_accuracy_shows_the_heat_map_and_the_largest_errors_first(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    evaluate(mapping, experiment_set)
    response = visitor.get(f"/mappings/{mapping.pk}/?tab=accuracy")
    figure = embedded(response.content.decode(), "heat-map")["figure"]
    assert figure["data"][0]["type"] == "heatmap"
    errors = [abs(row.difference) for row in response.context["bin_rows"]]
    assert errors == sorted(errors, reverse=True)
    assert len(errors) == 2
    assert [column.name for column in response.context["columns"]] == [mapping.name, "llvm-mca"]


def test_a_bin_lists_exactly_its_experiments(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    heat_map = evaluate(mapping, experiment_set).heat_map
    found = 0
    for row, counts in enumerate(heat_map["counts"]):
        for column, count in enumerate(counts):
            if count:
                response = visitor.get(f"/mappings/{mapping.pk}/?tab=accuracy&bin={row},{column}")
                assert response.context["bin_total"] == count
                found += count
    assert found == 2


def test_the_accuracy_tab_has_every_view_of_a_comparison_in_any_unit(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    evaluate(mapping, experiment_set)
    host = f"tab=accuracy&set={experiment_set.pk}"
    links = visitor.get(f"/mappings/{mapping.pk}/?{host}").context["view_links"]
    assert {name for name, _, _ in links} >= {"scores", "map", "schemes", "traits", "matrix", "telling"}
    for name, _, url in links:
        assert url.startswith(f"?{host}&")
        shown = visitor.get(f"/mappings/{mapping.pk}/{url}&unit=ipc")
        assert (shown.context["view_name"], shown.context["tab"]) == (name, "accuracy")
        assert shown.context["unit_label"] == "instructions per cycle"
    (matrix,) = visitor.get(f"/mappings/{mapping.pk}/?{host}&view=matrix").context["view_tables"]
    pairs = [value.url for cells, _ in matrix["rows"] for _, value in cells if hasattr(value, "url")]
    assert len(pairs) >= 2
    for url in pairs:
        assert url.startswith(f"/mappings/{mapping.pk}/?{host}&")
        assert visitor.get(url).context["view_name"] == "telling"
    few = visitor.get(f"/mappings/{mapping.pk}/?{host}&view=scores&shortest=1&longest=1")
    assert few.context["selected"] < few.context["comparison"].n
    assert visitor.get(f"/mappings/{mapping.pk}/?{host}&q=colour:red").status_code == 400
    assert visitor.get(f"/mappings/{mapping.pk}/?{host}&view=odd").status_code == 400


@pytest.mark.parametrize(
    "query", ["bin=35,0", "bin=x", f"bin={'9' * 5000},0", "set=0", "set=abc", "unit=miles"]
)
def test_an_address_that_makes_no_sense_is_a_bad_request(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet, query: str
):
    evaluate(mapping, experiment_set)
    assert visitor.get(f"/mappings/{mapping.pk}/?tab=accuracy&{query}").status_code == 400


def test_evaluating_on_another_set_is_a_run_whose_result_appears_on_the_same_page(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    address = f"/mappings/{mapping.pk}/?tab=accuracy&set={experiment_set.pk}&unit=ipc"
    assert "Not evaluated on small" in page(visitor, address)
    answer = visitor.post(f"/mappings/{mapping.pk}/evaluate/", {"set": experiment_set.pk, "unit": "ipc"})
    assert answer.headers["Location"] == address
    run = Run.objects.get(kind="evaluate")
    assert f'data-waits-for="{run.pk}"' in page(visitor, address)
    work_off(run)
    assert "instructions per cycle" in page(visitor, address)
    assert mapping.evaluations.get().unit == "ipc"


def test_what_a_run_held_out_can_be_looked_at_experiment_by_experiment(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    mixes = [Measured(Experiment.of({ADD: 1, IMUL: k}), 1.0 + k) for k in range(1, 9)]
    store_measurements(experiment_set, mixes)
    source = {"datasets": [experiment_set.pk]}
    config = {
        "source": source,
        "ports": 3,
        "settings": {"search": "evolution", "population": 20, "max_generations": 2},
    }
    run = submit("infer", {**config, "held_out": 0.4}, "a run")
    work_off(run)
    inferred = PortMapping.objects.get(run=run)
    response = visitor.get(f"/mappings/{inferred.pk}/?tab=accuracy&set=held-out")
    evaluation = response.context["evaluation"]
    assert evaluation.held_out_by == run
    assert len(response.context["bin_rows"]) == evaluation.n > 0
    mape = sum(abs(row.difference) for row in response.context["bin_rows"]) / evaluation.n
    assert mape == pytest.approx(evaluation.mape)


def test_nothing_is_listed_as_held_out_once_a_set_is_gone(
    mapping: PortMapping, experiment_set: ExperimentSet
):
    other = ExperimentSet.objects.create(name="other", isa=mapping.isa, origin="upload")
    mixes = [Measured(Experiment.of({ADD: 1, IMUL: k}), 1.0 + k) for k in range(1, 9)]
    store_measurements(other, mixes)
    run = submit(
        "infer",
        {
            "source": {"datasets": [experiment_set.pk, other.pk]},
            "ports": 3,
            "settings": {"search": "evolution", "population": 20, "max_generations": 2},
        },
        "a run",
    )
    assert sum(len(chunk.ids) for chunk in held_out_of(run)) > 0
    experiment_set.delete()
    assert list(held_out_of(run)) == []


def test_an_evaluation_made_anew_is_shown_anew(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    evaluate(mapping, experiment_set)
    address = f"/mappings/{mapping.pk}/?tab=accuracy&set={experiment_set.pk}"
    before = visitor.get(address).context["bin_rows"]
    assert visitor.get(address).context["bin_rows"] == before
    experiment_set.measurements.filter(pk=before[0].stored.id).update(cycles=before[0].predicted)
    evaluate(mapping, experiment_set)
    after = visitor.get(address).context["bin_rows"]
    assert [row.difference for row in after if row.stored.id == before[0].stored.id] == [0]


def test_a_mapping_is_exported_in_both_formats(visitor: Client, mapping: PortMapping):
    own = visitor.get(f"/mappings/{mapping.pk}/export/")
    assert own.headers["Content-Disposition"] == 'attachment; filename="three-ports.json"'
    assert ADD in own.json()["usage"]
    assert visitor.get(f"/mappings/{mapping.pk}/export/?format=pmevo").json()["kind"] == "Mapping3"
    assert visitor.get(f"/mappings/{mapping.pk}/export/?format=png").status_code == 400


def test_a_mapping_is_renamed_and_deleted(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    evaluate(mapping, experiment_set)
    visitor.post(f"/mappings/{mapping.pk}/edit/", {"name": "renamed", "note": ""})
    assert "1 evaluation" in page(visitor, f"/mappings/{mapping.pk}/delete/")
    visitor.post(f"/mappings/{mapping.pk}/delete/")
    assert not PortMapping.objects.exists()


def test_no_page_of_a_mapping_has_inline_styles_or_scripts(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    evaluate(mapping, experiment_set)
    for tab in ("graph", "accuracy", "schemes"):
        text = page(visitor, f"/mappings/{mapping.pk}/?tab={tab}")
        assert " style=" not in text
        assert "<style" not in text
        for tag in re.findall(r"<script[^>]*>", text):
            assert "src=" in tag or 'type="application/json"' in tag


def test_a_page_of_a_mapping_needs_a_bounded_number_of_queries(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet, django_assert_max_num_queries: Any
):
    for number in range(15):
        other = ExperimentSet.objects.create(name=f"set {number}", isa=mapping.isa, origin="upload")
        store_measurements(other, [Measured(Experiment.of([ADD]), 1.0)])
        evaluate(mapping, other)
    for tab in ("graph", "accuracy", "schemes"):
        with django_assert_max_num_queries(20):
            visitor.get(f"/mappings/{mapping.pk}/?tab={tab}")


def test_the_volume_is_explained(visitor: Client, mapping: PortMapping):
    assert "µops × ports each can use, over all schemes" in page(visitor, f"/mappings/{mapping.pk}/")


@pytest.mark.parametrize("path", ["/mappings/", "/mappings/{pk}/"])
def test_the_provenance_of_an_example_is_said_once(visitor: Client, mapping: PortMapping, path: str):
    PortMapping.objects.filter(pk=mapping.pk).update(origin="example", source="recorded example 1: a.json")
    text = page(visitor, path.format(pk=mapping.pk))
    assert "Recorded example 1: a.json" in text
    assert text.lower().count("recorded example") == 1


def test_the_accuracy_tab_names_the_bounds_of_a_bin_as_its_picture_does(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet
):
    evaluate(mapping, experiment_set)
    text = page(visitor, f"/mappings/{mapping.pk}/?tab=accuracy&bin=2,5")
    bounds = embedded(text, "heat-map")["figure"]["data"][0]["meta"]
    assert f"measured {bounds[5]} cycles, predicted {bounds[2]} cycles" in text

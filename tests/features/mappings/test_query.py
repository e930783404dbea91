"""The list of port mappings with the evaluation that says most."""

from inference.core.experiment import Experiment, Measured
from inference.features.library.mappings.query import MAPPING_COLUMNS, port_mappings
from inference.models import ISA, ExperimentSet, PortMapping, Run
from inference.storage.evaluations import evaluate
from inference.storage.rows import store_mapping
from inference.web.paging import Order, page_of
from tests.rows import instructions
from tests.rows.instructions import ADD, VALUE

isa, mapping, measured = instructions.isa, instructions.mapping, instructions.measured


def test_a_mapping_shows_its_held_out_score_or_the_one_on_the_chosen_set(
    mapping: PortMapping, measured: ExperimentSet
) -> None:
    assert port_mappings().get().evaluation_id is None
    on_set = evaluate(mapping, measured)
    mapping.run = Run.objects.create(name="r", kind="infer", state=Run.State.DONE)
    mapping.save()
    held_out = evaluate(mapping, [Measured(Experiment.of([ADD]), 1.0)])
    evaluate(mapping, measured, "ipc")
    shown = port_mappings().get()
    assert (shown.evaluation_id, shown.mape, shown.scheme_count) == (held_out.pk, 50.0, 2)
    assert port_mappings(on=measured.pk).get().evaluation_id == on_set.pk
    assert port_mappings(on=measured.pk + 1).get().evaluation_id is None


def test_the_list_is_filtered_by_name_and_note(mapping: PortMapping) -> None:
    PortMapping.objects.update(note="Measured on a Tuesday")
    assert port_mappings("TUESDAY").count() == 1
    assert port_mappings("wednesday").count() == 0


def test_mappings_without_a_score_come_last(mapping: PortMapping, measured: ExperimentSet, isa: ISA) -> None:
    store_mapping("unrated", isa, VALUE, origin=PortMapping.Origin.IMPORT)
    evaluate(mapping, measured)
    page = page_of(port_mappings(), Order("mape"), MAPPING_COLUMNS, size=1)
    assert [row.name for row in page.rows] == ["m"]
    rest = page_of(port_mappings(), Order("mape"), MAPPING_COLUMNS, page.next_cursor, 1)
    assert [(row.name, row.mape) for row in rest.rows] == [("unrated", None)]
    best = page_of(port_mappings(), Order("kendall", descending=True), MAPPING_COLUMNS)
    assert [row.name for row in best.rows] == ["m", "unrated"]

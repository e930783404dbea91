"""Experiments: measured ones and typed ones, predicted by every mapping that can, with the bucket picture."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client
from django.utils.http import urlencode

from inference.core.experiment import Experiment as ExperimentValue
from inference.core.mapping import PortMapping as Mapping
from inference.core.schedule import schedule
from inference.features.library.experiments.pages import MAX_INSTRUCTIONS, code_of
from inference.features.library.experiments.picture import LEFT, picture
from inference.models import ISA, Experiment, ExperimentSet, Machine, Measurement, PortMapping
from inference.storage.mappings import load_mapping, store_mapping
from tests.rows.library import ADD, IMUL, LOAD

MIX = ExperimentValue.of({ADD: 2, IMUL: 1})


def typed(visitor: Client, text: str, **more: object) -> str:
    """The address of the page where an experiment is typed in."""
    return f"/experiments/?{urlencode({'e': text, **more})}"


@pytest.fixture
def measured(experiment_set: ExperimentSet) -> Experiment:
    """The row of the mix."""
    return Experiment.objects.get(length=3, measurements__cycles=1.02)


def test_a_measured_experiment_stands_beside_its_predictions(
    visitor: Client, measured: Experiment, mapping: PortMapping
):
    response = visitor.get(f"/experiments/{measured.pk}/")
    (prediction,) = response.context["predictions"]
    assert prediction.mapping == mapping
    assert prediction.cycles == 1.0
    assert prediction.error == pytest.approx(100 * (1.0 - 1.02) / 1.02)
    text = response.content.decode()
    assert "llvm-mca" in text
    assert "two ports" in text


def test_the_mapping_in_the_address_is_the_one_shown(
    visitor: Client, measured: Experiment, mapping: PortMapping
):
    other = store_mapping(
        "one port", mapping.isa, Mapping(("x",), {ADD: ((1, 1),), IMUL: ((1, 1),)}), origin="import"
    )
    for row in (mapping, other):
        pinned = visitor.get(f"/experiments/{measured.pk}/?mapping={row.pk}").context["pinned"]
        assert pinned.prediction.mapping == row


def test_a_mapping_is_judged_by_what_its_own_machine_measured(
    visitor: Client, measured: Experiment, mapping: PortMapping
):
    here, there = (
        Machine.objects.create(name=name, isa=mapping.isa, kind="agent") for name in ("here", "there")
    )
    for machine, cycles in ((here, 2.0), (there, 3.0)):
        own = ExperimentSet.objects.create(name=machine.name, isa=mapping.isa, machine=machine)
        Measurement.objects.create(
            experiment_set=own, experiment=measured, cycles=cycles, state="settled", length=3
        )
    PortMapping.objects.filter(pk=mapping.pk).update(machine=there)
    for address in (f"?mapping={mapping.pk}", ""):  # never a median with "here" and the third set's 1.02
        page = visitor.get(f"/experiments/{measured.pk}/{address}")
        assert page.context["measured"] == 3.0
        assert "3.00 cycles on there" in page.text


def test_a_mapping_goes_with_the_user_from_its_page_through_the_form_to_its_picture(
    visitor: Client, mapping: PortMapping
):
    store_mapping("newer", mapping.isa, load_mapping(mapping), origin="import")
    link = re.search(r'href="(/experiments/[^"]*)"', visitor.get(f"/mappings/{mapping.pk}/").content.decode())
    assert link is not None
    form = visitor.get(unescape(link[1]))
    hidden = re.search(r'type="hidden" name="mapping" value="(\d+)"', form.content.decode())
    assert hidden is not None
    answer = visitor.get(typed(visitor, f"3*{ADD}", isa=mapping.isa_id, mapping=hidden[1]))
    assert answer.context["pinned"].prediction.mapping == mapping


def test_a_variation_keeps_the_mapping_that_is_shown(
    visitor: Client, measured: Experiment, mapping: PortMapping
):
    store_mapping("newer", mapping.isa, load_mapping(mapping), origin="import")
    shown = visitor.get(f"/experiments/{measured.pk}/?mapping={mapping.pk}")
    again = visitor.get(f"{shown.context['try_url']}&stay=1")
    assert again.context["pinned"].prediction.mapping == mapping


def test_a_mapping_that_lacks_a_scheme_is_named_and_another_shown(
    visitor: Client, measured: Experiment, mapping: PortMapping
):
    small = store_mapping("only add", mapping.isa, Mapping(("x",), {ADD: ((1, 1),)}), origin="import")
    response = visitor.get(f"/experiments/{measured.pk}/?mapping={small.pk}")
    assert response.context["pinned"].prediction.mapping == mapping
    assert "only add does not describe all" in response.content.decode()


def test_an_experiment_that_no_mapping_knows_has_no_picture(visitor: Client, experiment_set: ExperimentSet):
    row = Experiment.objects.get(measurements__cycles=1.5)
    assert "No mapping describes" in visitor.get(f"/experiments/{row.pk}/").content.decode()


def test_a_typed_experiment_is_predicted(visitor: Client, mapping: PortMapping):
    response = visitor.get(typed(visitor, f"3*{ADD}; {IMUL.upper()}"))
    assert response.context["value"] == ExperimentValue.of({ADD: 3, IMUL: 1})
    assert response.context["pinned"].prediction.cycles == pytest.approx(4 / 3)


def test_a_typed_experiment_that_was_measured_leads_to_its_page(
    visitor: Client, measured: Experiment, mapping: PortMapping
):
    response = visitor.get(typed(visitor, str(MIX), mapping=mapping.pk))
    assert response.headers["Location"] == f"/experiments/{measured.pk}/?mapping={mapping.pk}"
    assert visitor.get(typed(visitor, str(MIX), stay=1)).status_code == 200


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("imull GPR[64]:RW, GPR[64]:R", "has no scheme"),
        ("0*add GPR[64]:RW, GPR[64]:R", "multiplicity 0"),
        (";;", "empty term"),
        ("9999999999*add GPR[64]:RW, GPR[64]:R", "instructions"),
        ("\x00\ud7ff", "scheme"),
    ],
)
def test_text_that_is_no_experiment_is_explained(
    visitor: Client, mapping: PortMapping, text: str, words: str
):
    response = visitor.get(typed(visitor, text))
    assert response.status_code == 400
    assert words in response.content.decode()


def test_an_unknown_scheme_comes_with_near_ones_to_take_instead(visitor: Client, mapping: PortMapping):
    suggestions = visitor.get(typed(visitor, f"2*{IMUL}x; {ADD}")).context["typed"].suggestions
    assert suggestions[0].nearest == IMUL
    assert suggestions[0].corrected == f"2*{IMUL}; {ADD}"


def test_a_link_to_an_instruction_set_without_mappings_is_answered(visitor: Client, mapping: PortMapping):
    other = ISA.objects.create(name="other")
    response = visitor.get("/experiments/", {"isa": other.pk})
    assert (response.status_code, response.context["isa"]) == (200, other)
    assert visitor.get("/experiments/", {"isa": 10**17}).status_code == 404


def test_without_any_mapping_the_page_says_how_to_get_one(visitor: Client, isa: object):
    assert 'href="/infer/"' in visitor.get("/experiments/").content.decode()


def test_the_blocks_of_a_port_fill_its_bucket_up_to_its_load():
    mapping = Mapping(("0", "1", "5"), {ADD: ((0b111, 1),), IMUL: ((0b010, 2),), LOAD: ((0b100, 1),)})
    value = ExperimentValue.of({ADD: 4, IMUL: 1, LOAD: 2})
    drawn = picture(schedule(mapping, value), value.terms)
    scale = (drawn.floor - drawn.level) / drawn.cycles
    for bucket in drawn.buckets:
        assert sum(block.height for block in bucket.blocks) == pytest.approx(bucket.load * scale)
        lower = drawn.floor
        for block in bucket.blocks:
            assert block.y + block.height == pytest.approx(lower)
            lower = block.y
    assert drawn.buckets[0].x == LEFT
    assert {letter for letter, _, _ in drawn.schemes} == {"A", "B", "C"}


def test_the_picture_says_in_words_which_ports_limit():
    mapping = Mapping(("0", "1"), {ADD: ((0b11, 1),), IMUL: ((0b10, 1),)})
    drawn = picture(schedule(mapping, ExperimentValue.of({IMUL: 3})), ((IMUL, 3),))
    assert "limited by port 1" in drawn.summary
    assert [bucket.full for bucket in drawn.buckets] == [False, True]


def test_a_bottleneck_beside_the_ports_is_said_to_be_it_and_no_port():
    mapping = Mapping(("0", "1"), {ADD: ((0b11, 1),)}, r_max=1.0)
    drawn = picture(schedule(mapping, ExperimentValue.of([ADD])), ((ADD, 1),))
    assert drawn.cycles == 1.0
    assert "R_max" in drawn.summary
    assert drawn.level < drawn.floor
    assert [bucket.full for bucket in drawn.buckets] == [False, False, True]


def test_issue_slots_are_a_bucket_of_their_own_filled_by_what_each_scheme_takes():
    mapping = Mapping(("0", "1"), {ADD: ((0b11, 1),), IMUL: ((0b01, 1),)}, None, 4.0, {IMUL: 7})
    value = ExperimentValue.of({ADD: 1, IMUL: 1})
    drawn = picture(schedule(mapping, value), value.terms)
    *_, slots = drawn.buckets
    assert (slots.name, slots.load, slots.full) == ("slots", 2.0, True)
    first, second = slots.blocks
    assert second.height == pytest.approx(7 * first.height)
    assert first.y + first.height == pytest.approx(drawn.floor)
    assert drawn.caption == "2 cycles, limited by issue slots; ports alone: 1"


def test_what_a_load_can_be_is_a_line_beside_its_bucket_and_told_in_words():
    mapping = Mapping(("0", "1", "5"), {IMUL: ((0b001, 3),), ADD: ((0b110, 1),)})
    value = ExperimentValue.of({IMUL: 1, ADD: 4})
    drawn = picture(schedule(mapping, value), value.terms)
    scale = (drawn.floor - drawn.level) / drawn.cycles
    fixed, first, last = drawn.buckets
    assert (fixed.range, fixed.full, first.full) == (None, True, False)
    assert first.range is not None
    assert first.range.bottom == pytest.approx(drawn.floor - 1 * scale)
    assert first.range.top == pytest.approx(drawn.level)
    assert first.range.dot == pytest.approx(first.blocks[-1].y)
    assert first.right < first.range.left < first.range.right < last.x
    free = "2 cycles, can be 1 to 3"
    assert drawn.summary.endswith(f". port 0: 3 cycles; port 1: {free}; port 5: {free}.")


def test_the_page_shows_the_ranges_and_explains_them_where_there_are_any(
    visitor: Client, mapping: PortMapping
):
    row = store_mapping(
        "free", mapping.isa, Mapping(("0", "1", "5"), {ADD: ((6, 2),), IMUL: ((1, 3),)}), origin="import"
    )
    free = visitor.get(typed(visitor, f"2*{ADD}; {IMUL}", mapping=row.pk)).content.decode()
    assert "<title>port 5: 2 cycles, can be 1 to 3</title>" in free
    assert ">1–3</text>" in free
    assert "range: what the load can be" in free
    bound = visitor.get(typed(visitor, IMUL, mapping=row.pk)).content.decode()
    assert "range" not in bound[bound.index("<svg viewBox") : bound.index("Predicted by")]


def test_a_bottleneck_beside_the_ports_has_its_subscript_in_the_caption(
    visitor: Client, mapping: PortMapping
):
    PortMapping.objects.filter(pk=mapping.pk).update(r_max=1.0)
    text = visitor.get(typed(visitor, f"3*{ADD}", mapping=mapping.pk)).content.decode()
    assert "limited by R<sub>max</sub>" in text


def test_more_schemes_than_letters_still_have_different_names():
    texts = [f"op{number} GPR[64]:R" for number in range(60)]
    mapping = Mapping(("0",), dict.fromkeys(texts, ((1, 1),)))
    drawn = picture(schedule(mapping, ExperimentValue.of(texts)), tuple((text, 1) for text in texts))
    assert len({letter for letter, _, _ in drawn.schemes}) == 60


def test_a_measured_experiment_lists_the_code_that_ran(
    visitor: Client, experiment_set: ExperimentSet, measured: Experiment
):
    assert "The code that would run" in visitor.get(f"/experiments/{measured.pk}/").text
    experiment_set.machine = Machine.objects.create(name="lab", kind="agent", isa=experiment_set.isa)
    experiment_set.save()
    response = visitor.get(f"/experiments/{measured.pk}/")
    assert "The code that ran" in response.text
    assert f"/machines/{experiment_set.machine.pk}/" in response.text
    code = response.context["code"]
    assert sum(line.startswith("add ") for line in code["listing"]) == 2 * code["copies"]
    assert sum(line.startswith("imul ") for line in code["listing"]) == code["copies"]


def test_an_experiment_of_which_no_code_can_be_made_says_why(isa: ISA):
    unknown = ExperimentValue.of({"wbinvd": 1})
    assert code_of(unknown, isa)["no_code"]
    long = ExperimentValue.of({ADD: MAX_INSTRUCTIONS + 1})
    assert code_of(long, isa) == {}
    assert code_of(unknown, ISA(name="another")) == {}


def test_the_measured_time_is_a_line_and_what_is_missing_is_said_with_the_smallest_change(
    visitor: Client, experiment_set: ExperimentSet, measured: Experiment, mapping: PortMapping
):
    shown = visitor.get(f"/experiments/{measured.pk}/")
    pinned = shown.context["pinned"]
    assert pinned.gap.is_within_tolerance  # 1.02 cycles measured, 1.00 predicted
    assert pinned.picture.measured < pinned.picture.level  # further up
    experiment_set.measurements.filter(experiment=measured).update(cycles=2.0)
    gap = visitor.get(f"/experiments/{measured.pk}/").context["pinned"].gap
    assert gap.missing == pytest.approx(1.0)
    assert [(change.scheme, change.mask, change.number) for change in gap.changes] == [(IMUL, 0b010, 1)]
    experiment_set.measurements.filter(experiment=measured).update(cycles=0.67)
    page = visitor.get(f"/experiments/{measured.pk}/")
    gap = page.context["pinned"].gap
    assert gap.surplus == pytest.approx(0.33)
    assert gap.changes[0].number < 0
    assert "cycles too many" in page.content.decode()


def test_a_measurement_far_above_the_buckets_leaves_them_as_they_are():
    mapping = Mapping(("0", "1"), {ADD: ((0b11, 1),)})
    drawn = picture(schedule(mapping, ExperimentValue.of([ADD])), ((ADD, 1),), 50.0)
    assert drawn.measured is None

"""What is said of families: numbers, operand values, what machines say, what is no mistake."""

from __future__ import annotations

import pytest

from anica_app.core.value_dependence import NOT_AGAIN
from anica_app.features.families import evidence
from anica_app.features.families.evidence import HardwareGrade, evidence_of, ranked_families
from anica_app.features.families.query import families_in_order
from anica_app.models import Campaign, CampaignPredictor, Discovery, Family
from anica_app.storage.findings import OPERAND_VALUES
from inference.models import AnswerCache, Machine, Predictor
from inference.models.block_set import block_key
from inference.storage.instruction_sets import new_isa

pytestmark = pytest.mark.django_db

SHIFT = bytes.fromhex("48d3e0")
"""shl rax, cl"""


def reading(values: str, cl: str, cycles: float, *, holds: bool) -> dict[str, object]:
    return {"values": values, "operands": {"cl": cl}, "cycles": cycles, "holds": holds}


FOUND, ONE = reading("as found", "0", 8.0, holds=True), reading("1", "1", 8.0, holds=True)
LOST = reading("as found", "0", 1.0, holds=False)


def repeated(condition: str, *readings: dict[str, object]) -> dict[str, object]:
    finding = {"machine": "machine lab", "block": SHIFT.hex(), "condition": condition}
    return {**finding, "readings": list(readings)}


def campaign_of(*kinds: str, cycles: tuple[float, float] = (1.0, 8.0), families: int = 1) -> Campaign:
    """A campaign over predictors of these kinds, each family with a discovery of the same witness."""
    campaign = Campaign.objects.create(name="about shifts", origin="run", facts={})
    for position, kind in enumerate(kinds):
        tool = Predictor.objects.create(
            name=f"{kind} {position}", kind=kind, key=str(position) * 64, options={"cpu": "haswell"}
        )
        CampaignPredictor.objects.create(campaign=campaign, position=position, predictor=tool)
    for number in range(families):
        discovery = Discovery.objects.create(campaign=campaign, number=number, code=SHIFT, length=1)
        answers = {"block": SHIFT.hex(), "cycles": list(cycles), "failures": ["", ""]}
        family = Family.objects.create(
            campaign=campaign,
            number=number,
            name=f"shifts {number}",
            bound="ports",
            code=SHIFT,
            facts={"members": {str(number): answers}},
        )
        family.discoveries.set([discovery])
    return campaign


def only(campaign: Campaign) -> evidence.FamilyEvidence:
    (row,) = evidence_of(campaign, list(families_in_order(campaign)))
    return row


def repeat(campaign: Campaign, finding: dict[str, object]) -> None:
    campaign.discoveries.update(facts={OPERAND_VALUES: [finding]})


def test_two_tools_without_a_measurement_settle_nothing():
    row = only(campaign_of("osaca", "mapping"))
    assert (row.grade, row.hardware) == (HardwareGrade.UNMEASURED, "No machine has measured the block.")
    assert row.values == ""
    assert [(bar.name, bar.width, bar.is_measured) for bar in row.bars] == [
        ("osaca 0", 12.5, False),
        ("mapping 1", 100.0, False),
    ]


@pytest.mark.parametrize(
    ("measured", "right"),
    [(7.5, ": mapping 1 is right."), (1.0, ": osaca 0 is right."), (3.0, ": neither tool is within 25 %.")],
)
def test_a_stored_measurement_judges_the_tools(measured: float, right: str):
    campaign = campaign_of("osaca", "mapping")
    lab = Predictor.objects.create(name="machine lab", kind="machine", key="m" * 64)
    AnswerCache.objects.create(predictor=lab, block=block_key(SHIFT), cycles=measured)
    row = only(campaign)
    assert row.grade is HardwareGrade.MEASURED
    assert row.hardware == f"machine lab measured {measured:.2f} cycles{right}"
    assert row.sentence.endswith(f"; machine lab measured {measured:g}")


def test_a_machine_among_the_tools_says_with_which_values():
    campaign = campaign_of("osaca", "machine")
    repeat(campaign, repeated("", FOUND, ONE))
    row = only(campaign)
    assert (row.grade, row.values) == (HardwareGrade.MEASURED, "cl = 0")
    assert row.hardware == "The same with 1 other choice of operand values."
    repeat(campaign, repeated("only where cl = 0", FOUND))
    row = only(campaign)
    assert (row.grade, row.hardware) == (HardwareGrade.SOME_VALUES, "The difference shows only where cl = 0.")


def test_what_a_machine_does_not_show_again_is_no_mistake():
    campaign = campaign_of("osaca", "machine", families=5)
    repeat(campaign, repeated("", FOUND))
    campaign.discoveries.filter(number=1).update(facts={OPERAND_VALUES: [repeated(NOT_AGAIN, LOST)]})
    campaign.families.filter(number=2).update(mark=Discovery.Mark.NO_FAULT)
    ranked = ranked_families(campaign, list(families_in_order(campaign)))
    numbers = [
        [row.family.number for row in part] for part in (ranked.worst, ranked.further, ranked.doubtful)
    ]
    assert numbers == [[0, 3, 4], [], [1, 2]]
    assert ranked.doubtful[0].hardware.endswith("do not report it.")
    assert "Of 5 families: 4 measured by a machine; 1 not shown again" in ranked.sentence
    assert "1 marked as not a fault" in ranked.sentence


def test_a_measurement_of_another_processor_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(evidence, "different_processors", lambda rows: {"Zen 4": ["machine 1"]})
    assert only(campaign_of("osaca", "machine")).stranger == "machine 1"


@pytest.mark.parametrize(("core", "stranger"), [("Zen 4", "machine lab"), ("Haswell", ""), ("", "")])
def test_names_of_imported_tools_say_which_processor_they_are_of(
    core: str, stranger: str, monkeypatch: pytest.MonkeyPatch
):
    campaign = campaign_of("imported", "imported")
    Predictor.objects.filter(name="imported 0").update(name="llvm-mca.13.hsw")
    isa = new_isa("x86-64", ["add GPR[64]:RW, GPR[64]:R"], "a few")
    Machine.objects.create(name="lab", isa=isa, kind=Machine.Kind.AGENT)
    lab = Predictor.objects.create(
        name="machine lab", kind="machine", key="m" * 64, options={"machine": "lab"}
    )
    AnswerCache.objects.create(predictor=lab, block=block_key(SHIFT), cycles=8.0)
    monkeypatch.setattr(evidence, "core_name", lambda machine: core)
    monkeypatch.setattr(evidence, "different_processors", lambda rows: {})
    assert only(campaign).stranger == stranger


def test_the_queries_do_not_grow_with_the_families(django_assert_max_num_queries):
    campaign = campaign_of("osaca", "mapping", families=12)
    rows = list(families_in_order(campaign))
    with django_assert_max_num_queries(8):
        assert all(row.hardware for row in evidence_of(campaign, rows))


def test_the_next_mistake_passes_over_what_is_no_fault():
    campaign = campaign_of("osaca", "mapping", families=3)
    first, second, third = campaign.families.order_by("number")
    assert evidence.next_worst(first) == second
    Family.objects.filter(pk=second.pk).update(mark=Discovery.Mark.NO_FAULT)
    assert evidence.next_worst(first) == third
    assert evidence.next_worst(third) is None

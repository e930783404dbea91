"""Which discoveries speak of a scheme: by name, by their block, as one of a class, not at all."""

from __future__ import annotations

import pytest

from anica_app.core.block_domain import Mention, mention_of
from anica_app.features.discoveries.wording import mentions_of
from anica_app.models import Campaign, Discovery
from inference.isa.targets import AARCH64, DEFAULT
from inference.models import ISA, InstructionScheme
from inference.storage.instruction_sets import new_isa

ADD = "add GPR[64]:RW, GPR[64]:R"
CMOV = "cmovb GPR[64]:RW, GPR[64]:R"


def spoken(text: str, *instructions: dict) -> Mention | None:
    speaks = mention_of(text)
    assert speaks is not None
    return speaks({"instructions": list(instructions), "aliasing": []})


@pytest.mark.parametrize(
    ("instruction", "mention"),
    [
        ({"mnemonic": {"base": "add", "edits": 0}}, Mention.NAMED),
        ({"mnemonic": {"base": "and", "edits": 2}}, Mention.NAMED),
        ({"mnemonic": {"base": "imul", "edits": 1}}, None),
        ({"mnemonic": {"base": "add", "edits": 0}, "memory": ["R"]}, None),
        ({"memory": "none"}, Mention.AMONG),
        ({"uops": {"fewer_than": 4}}, None),
        ({}, None),
    ],
)
def test_an_instruction_names_a_scheme_or_has_it_among_others(instruction: dict, mention: Mention | None):
    assert spoken(ADD, instruction) == mention


def test_the_plainest_of_several_instructions_counts():
    named = {"mnemonic": {"base": "add", "edits": 0}}
    assert spoken(ADD, {}, {"memory": "none"}, named) == Mention.NAMED
    assert spoken(CMOV, {"isa-set": "CMOV"}, named) == Mention.AMONG


@pytest.fixture
def isa(db: None) -> ISA:
    return new_isa("x86-64", [ADD, CMOV], "a test")


def discovery(campaign: Campaign, number: int, **fields: object) -> Discovery:
    return Discovery.objects.create(campaign=campaign, number=number, length=1, **fields)


def test_named_ones_come_first_and_included_ones_are_left_out(isa: ISA):
    campaign = Campaign.objects.create(name="c", isa=isa, origin="run")
    among = discovery(campaign, 0, abstract={"instructions": [{"isa-set": "CMOV"}], "aliasing": []})
    block = discovery(campaign, 1, code=bytes.fromhex("480f42c3"))  # cmovb rax, rbx
    discovery(campaign, 2, code=bytes.fromhex("480f42c3"), subsumed_by=among)
    discovery(campaign, 3, code=bytes.fromhex("06"))  # no instruction
    found = mentions_of(InstructionScheme.objects.get(text=CMOV))
    assert found is not None
    assert found.listed == [(block, Mention.NAMED), (among, Mention.AMONG)]
    assert (found.named, found.among, found.looked, found.more) == (1, 1, 3, 0)


def test_schemes_of_other_instruction_sets_are_not_spoken_of(db: None):
    toy = new_isa("toy", [ADD], "a test")
    assert mentions_of(toy.schemes.get()) is None


def test_a_scheme_is_mentioned_by_discoveries_of_its_instruction_set_alone(db: None) -> None:
    texts = {AARCH64: "add GPR[64]:W, GPR[64]:R, GPR[64]:R", DEFAULT: ADD}
    rows = {name: new_isa(name, [text], "a few") for name, text in texts.items()}
    for number, isa in enumerate((rows[AARCH64], rows[DEFAULT], None)):
        campaign = Campaign.objects.create(name=f"campaign {number}", isa=isa, origin="run")
        document = {"instructions": [{"category": "arithmetic"}]}
        Discovery.objects.create(campaign=campaign, number=number, abstract=document, length=1)
    mentions = {name: mentions_of(rows[name].schemes.get(text=text)) for name, text in texts.items()}
    numbers = {
        name: sorted(row.number for row, _ in mention.listed) for name, mention in mentions.items() if mention
    }
    assert numbers == {AARCH64: [0], DEFAULT: [1, 2]}

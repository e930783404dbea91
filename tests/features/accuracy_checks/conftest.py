"""A simulated computer that takes time for six instructions, and a set of blocks of them."""

from __future__ import annotations

import io
import random

import pytest

from inference.core.mapping import PortMapping, uops_of
from inference.formats.block_sets import BlockSetOptions
from inference.isa import x86
from inference.isa.targets import X86
from inference.models import ISA, BasicBlockSet, Machine
from inference.models import PortMapping as PortMappingRow
from inference.storage.block_sets import store
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from tests.simulated import simulated_machine

INSTRUCTIONS = {
    "add GPR[64]:RW, GPR[64]:R": ("4801d8", 0b11),
    "imul GPR[64]:RW, GPR[64]:R": ("480fafc3", 0b01),
    "popcnt GPR[64]:W, GPR[64]:R": ("f3480fb8c3", 0b01),
    "mov GPR[64]:W, MEM[64]:R": ("488b07", 0b100),
    "sub GPR[64]:RW, GPR[64]:R": ("4829d8", 0b11),
}
UNKNOWN = "4831d8"
"""xor, which the machine has and no mapping describes."""


def mapping_of(usage: dict[str, int]) -> PortMapping:
    return PortMapping(("0", "1", "2"), {text: uops_of([(mask, 1)]) for text, mask in usage.items()}, 4.0)


@pytest.fixture
def isa(db: None) -> ISA:
    wanted = {*INSTRUCTIONS, "xor GPR[64]:RW, GPR[64]:R"}
    return store_isa(X86, [each for each in x86.schemes() if each.text in wanted], "a few")


@pytest.fixture
def machine(isa: ISA) -> Machine:
    truth = {text: mask for text, (_, mask) in INSTRUCTIONS.items()}
    return simulated_machine(isa, mapping_of(truth), name="lab", noise=0.01, seed=3)


@pytest.fixture
def wrong_mapping(isa: ISA, machine: Machine) -> PortMappingRow:
    """Of the machine, but for popcnt, which it takes to be quicker."""
    usage = {text: mask for text, (_, mask) in INSTRUCTIONS.items()} | {"popcnt GPR[64]:W, GPR[64]:R": 0b111}
    made = store_mapping("inferred", isa, mapping_of(usage), origin=PortMappingRow.Origin.IMPORT)
    made.machine = machine
    made.save()
    return made


@pytest.fixture
def block_set(isa: ISA) -> BasicBlockSet:
    dice = random.Random(5)
    codes = [code for code, _ in INSTRUCTIONS.values()]
    rows = {"".join(dice.choices(codes, k=dice.randint(2, 8))) for _ in range(150)}
    content = (
        "bb,weight\n" + "".join(f"{row},{at}\n" for at, row in enumerate(sorted(rows))) + f"{UNKNOWN},1\n"
    )
    return store(io.BytesIO(content.encode()), "b.csv", "blocks", BlockSetOptions())[0]

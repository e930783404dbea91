"""Mappings and machines as predictors of blocks."""

from __future__ import annotations

import pytest

from inference.agent.protocol import Result
from inference.core.errors import InvalidInputError
from inference.core.evaluator import PortMappingModel
from inference.core.mapping import PortMapping
from inference.isa.blocks import block_of_text
from inference.isa.targets import AARCH64
from inference.predictors.machine import MachineSettings, MeasuredBlocks
from inference.predictors.mapping import MappedBlocks, MappingSettings
from inference.predictors.protocol import Answer, Failure

ADD, STORE = "add GPR[64]:RW, GPR[64]:R", "mov MEM[64]:W, GPR[64]:R"
VALUE = PortMapping(ports=("0", "1", "s"), usage={ADD: ((3, 1),), STORE: ((1, 1), (4, 1))}, r_max=2.0)
ADD_CODE, STORE_CODE, XOR_CODE = (bytes.fromhex(code) for code in ("4801d8", "488903", "4831db"))


def mapped(r_max: float | None = None) -> MappedBlocks:
    return MappedBlocks("small", PortMappingModel(VALUE), MappingSettings("small", r_max), "digest")


def test_a_mapping_predicts_the_multiset_of_a_block_without_its_dependencies():
    answers = mapped(0.0).predict([ADD_CODE * 4, ADD_CODE * 3 + STORE_CODE, STORE_CODE])
    assert [answer.cycles for answer in answers] == [2.0, 2.0, 1.0]


def test_a_mapping_of_another_instruction_set_predicts_its_blocks():
    add, subtract = "add GPR[64]:W, GPR[64]:R, GPR[64]:R", "subs GPR[64]:W, GPR[64]:R, IMM[12]:R"
    value = PortMapping(ports=("0", "1"), usage={add: ((3, 1),), subtract: ((3, 1),)})
    predictor = MappedBlocks("arm", PortMappingModel(value), MappingSettings("arm"), "digest", isa=AARCH64)
    straight = block_of_text("add x0, x1, x2\nadd x3, x1, x2\nadd x4, x1, x2", AARCH64)
    loop = block_of_text("1: add x0, x1, x2\nsubs x3, x3, #1\nb.ne 1b", AARCH64)
    other = block_of_text("mul x0, x1, x2", AARCH64)
    answers = predictor.predict([straight.code, loop.code, other.code, b"\xff" * 4])
    assert [answer.cycles for answer in answers] == [1.5, 1.0, None, None]
    assert answers[2].detail == "the mapping does not describe mul GPR[64]:W, GPR[64]:R, GPR[64]:R"


@pytest.mark.parametrize(("r_max", "cycles"), [(None, 1.0), (0.0, 1.0), (1.0, 2.0), (8.0, 1.0)])
def test_the_front_end_is_an_assumption_that_can_be_set(r_max, cycles):
    assert mapped(r_max).predict([ADD_CODE + STORE_CODE])[0].cycles == cycles


def test_the_assumption_is_part_of_name_and_identity():
    assert len({str(mapped(limit).identity) for limit in (None, 0.0, 4.0)}) == 3
    assert [mapped(limit).name for limit in (None, 0.0, 4.0)] == [
        *("mapping small", "mapping small · no R_max", "mapping small · R_max 4")
    ]


def test_what_a_mapping_does_not_describe_is_named():
    known, unknown, broken = mapped().predict([ADD_CODE, XOR_CODE + ADD_CODE, b"\x06"])
    assert known.cycles == 0.5
    assert (unknown.failure, unknown.detail) == (
        Failure.UNSUPPORTED,
        "the mapping does not describe xor GPR[64]:RW, GPR[64]:R",
    )
    assert broken.failure == Failure.UNSUPPORTED


def test_a_digest_stands_for_all_that_a_mapping_says():
    other = PortMapping(ports=VALUE.ports, usage={**VALUE.usage, ADD: ((3, 2),)}, r_max=2.0)
    same = PortMapping(ports=VALUE.ports, usage=dict(reversed(VALUE.usage.items())), r_max=2.0)
    assert VALUE.digest == same.digest
    assert VALUE.digest != other.digest


def test_a_machine_is_asked_for_what_can_be_measured_only():
    asked = []

    def measure(blocks, *, starts=()):
        asked.extend(block.hex for block in blocks)
        yield from ((k, Result("", "settled", cycles=2.0)) for k in range(len(blocks)))

    predictor = MeasuredBlocks("lab", {"machine": 1}, measure, MachineSettings("lab"))
    jump = bytes.fromhex("eb00")
    answers = predictor.predict([jump, ADD_CODE, b"\x06"])
    assert asked == ["4801d8"]
    assert [answer.failure for answer in answers] == [Failure.UNSUPPORTED, None, Failure.UNSUPPORTED]
    assert answers[1] == Answer(cycles=2.0)


@pytest.mark.parametrize(
    ("note", "failure"),
    [
        ("touches memory that is not its own, or does what is left to the kernel", Failure.CRASH),
        ("touches an address that cannot be, or one that is not aligned as it must be", Failure.CRASH),
        ("illegal instruction", Failure.UNSUPPORTED),
        ("does not end within 1 s", Failure.TIMEOUT),
        ("touches more than 2000 pages of memory; the last is at 0x675ee580", Failure.NO_NUMBER),
        ("touches 0x0, where this system lets no program have memory", Failure.NO_NUMBER),
        ("touches memory that is not its own: 0x55550000 is of the process that measures", Failure.NO_NUMBER),
    ],
)
def test_what_cannot_be_measured_here_is_no_crash_of_the_processor(note, failure):
    def measure(blocks, *, starts=()):
        yield 0, Result("", "failed", note=note)

    predictor = MeasuredBlocks("lab", {"machine": 1}, measure, MachineSettings("lab"))
    assert predictor.predict([ADD_CODE]) == [Answer(failure=failure, detail=note)]


def test_how_a_block_is_surrounded_is_part_of_the_identity():
    made = [
        MeasuredBlocks("lab", {"machine": 1}, lambda blocks: iter(()), MachineSettings("lab", **options))
        for options in ({}, {"mode": "loop"}, {"copies": 10}, {"registers": 0}, {"memory": 0})
    ]
    assert len({str(one.identity) for one in made}) == len(made)
    with pytest.raises(InvalidInputError, match="mode must be one of"):
        MachineSettings("lab", mode="rolled")

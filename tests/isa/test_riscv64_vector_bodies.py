"""Loop bodies of RISC-V's V: the mode is set once, groups are aligned, and the code runs in QEMU."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from inference.agent.frame import function
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.riscv64.assembling import Assembler, frame, instances, obstacle
from inference.isa.riscv64.decoding import decoded
from inference.isa.riscv64.vector.blocks import in_modes
from inference.isa.riscv64.vector.modes import vector_schemes
from tests.isa.riscv64_program import EVERYTHING, HAS_ZICOND, needs_qemu, run

ADD, ADD_GROUP = (f"vadd.vv VR[{mode}]:W, VR[{mode}]:R, VR[{mode}]:R" for mode in ("e32,m1", "e32,m8"))
LOAD = "vle64.v VR[e64,m1]:W, MEM[e64,m1]:R"
AND = "vmand.mm VM:W, VM:R, VM:R"
WIDEN = "vwmacc.vv VR[e64,m8]:RW, VR[e32,m4]:R, VR[e32,m4]:R"
MASKED = "vadd.vv VR[e8,m1]:RW, VR[e8,m1]:R, VR[e8,m1]:R, v0.t:R"
ROUNDING = ".rtz."
"""Part of the conversions that QEMU 7.2 refuses."""


def test_the_mode_is_set_before_the_copies_and_in_the_shorter_loop() -> None:
    body = Assembler().unroll([(ADD, 1), (AND, 1)], instructions=8)
    assert body.listing[0] == "vsetvli x9, x0, e32, m1, ta, ma"
    assert sum(line.startswith("vset") for line in body.listing) == 1
    assert (len(body.code), body.half_bytes) == (4 * 9, 4 * 5)
    assert instances([ADD]) == {ADD: body.code[4:8]}


def test_two_modes_are_not_mixed() -> None:
    with pytest.raises(CannotMeasureError, match="the modes e32,m1 and e64,m1 need a vsetvli"):
        Assembler().unroll([(ADD, 1), (LOAD, 1)])


@pytest.mark.parametrize("text", [ADD_GROUP, WIDEN])
def test_groups_begin_at_multiples_and_sources_are_not_overwritten(text: str) -> None:
    lines = Assembler().unroll([(text, 1)], instructions=12).listing[1:]
    numbers = [[int(number) for number in re.findall(r"v(\d+)", line.partition(" ")[2])] for line in lines]
    assert all(number % 8 == 0 for row in numbers for number in row[:1])
    assert not {row[0] for row in numbers} & {number for row in numbers for number in row[1:]}
    assert all(number for row in numbers for number in row), "v0 is the mask"


@pytest.mark.parametrize("text", [ADD, ADD_GROUP, LOAD, WIDEN, MASKED, AND])
def test_bodies_decode_to_their_schemes(text: str) -> None:
    code = Assembler().unroll([(text, 1)], instructions=4).code
    setting, *copies = in_modes(decoded(code))
    assert setting.mnemonic == "vsetvli"
    assert {instruction.scheme for instruction in copies} == {text}


def test_instructions_without_a_mode_have_no_scheme() -> None:
    (addition,) = in_modes(decoded(bytes.fromhex("57042502")))
    assert addition.scheme is None
    assert "no vsetvli before it" in addition.reason


@needs_qemu
@pytest.mark.parametrize("bits", [128, 256])
def test_every_default_scheme_and_some_others_run(bits: int, tmp_path: Path) -> None:
    texts = [text for text in vector_schemes() if not obstacle(text) and (HAS_ZICOND or ROUNDING not in text)]
    default = [text for text in texts if not vector_schemes()[text].scheme.exclusion]
    chosen = sorted({*default, *texts[bits // 64 :: 7]})
    assembler = Assembler()
    bodies = [assembler.unroll([(text, 1)], instructions=6) for text in chosen]
    functions = [function(frame({"v"}), body.code) for body in bodies]
    outcome = run(functions, tmp_path / "vectors", cpu=f"{EVERYTHING},v=true,vlen={bits}")
    stopped = "" if outcome.returned == len(chosen) else chosen[outcome.returned]
    assert (outcome.status, stopped) == (0, "")


def test_all_registers_of_a_group_are_operands() -> None:
    code = Assembler().unroll([(WIDEN, 1)], instructions=2).code
    _, first, *_ = in_modes(decoded(code))
    assert [getattr(operand, "span", 0) for operand in first.operands] == [8, 4, 4]

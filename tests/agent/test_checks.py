"""Blocks with known answers."""

from __future__ import annotations

import pytest
from iced_x86 import Decoder, InstructionInfoFactory, Mnemonic, OpAccess, Register, RegisterExt

from inference.agent.checks import COPIES, CheckAnswers
from inference.agent.targets.x86_64 import ADDITIONS, LOADS, MULTIPLICATIONS, checks, expected

ALL = checks(avx=True)


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_a_block_consists_of_equal_instructions_that_leave_the_reserved_registers_alone(check):
    instructions = list(Decoder(64, check.item.code))
    assert len(instructions) == COPIES
    assert len({i.mnemonic for i in instructions}) == 1
    assert instructions[0].mnemonic != Mnemonic.INVALID
    factory = InstructionInfoFactory()
    for instruction in instructions:
        for used in factory.info(instruction).used_registers():
            if used.access != OpAccess.READ:
                full = RegisterExt.full_register(used.register)
                assert full not in {Register.R14, Register.R15, Register.RSP, Register.RBX}


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_the_shorter_loop_is_half_of_the_longer(check):
    half = list(Decoder(64, check.item.code[: check.item.half_bytes]))
    assert len(half) == check.item.half_copies == COPIES // 2


def test_known_microarchitectures_have_answers_for_every_block():
    for vendor, family, model in (("GenuineIntel", 6, 0x55), ("AuthenticAMD", 25, 1)):
        answers = expected(vendor, family, model)
        assert set(answers) == {check.name for check in ALL}
        for check in ALL:
            assert answers[check.name] in check.plausible
    assert expected("GenuineIntel", 6, 0x55)["loads"] == 1 / 2
    assert expected("AuthenticAMD", 25, 1)["loads"] == 1 / 3
    assert expected("Unheard", 6, 0x55) == {}


def test_three_multiplications_in_a_cycle_are_no_contradiction():
    answers = CheckAnswers({})
    for _ in range(6):
        answers.record(MULTIPLICATIONS, 0.333)  # as on Zen 5
    assert answers.contradiction(ALL) == ""
    assert answers.disturbance(ALL) == ""


def test_a_slow_answer_is_trouble_with_a_number():
    answers = CheckAnswers({"additions": 0.25})
    answers.record(ADDITIONS, 0.2521)
    assert answers.disturbance(ALL) == ""
    assert answers.noise(ALL) == pytest.approx(0.0084)
    answers.record(ADDITIONS, 0.35)
    assert answers.disturbance(ALL) == "additions are 40 % slower than they should be"


def test_where_nothing_is_documented_the_shortest_time_that_comes_up_again_is_the_true_one():
    answers = CheckAnswers({})
    for cycles in (0.51, 0.51, 0.505, 0.25, 0.51, 0.51, 0.335, 0.334, 0.336, 0.333, 0.335, 0.41):
        answers.record(LOADS, cycles)
    assert answers.deviations(ALL)["loads"] == pytest.approx(0.41 * 3 - 1)
    assert "loads are 23 % slower" in answers.disturbance(ALL)


def test_one_answer_that_is_too_fast_is_a_disturbance_and_many_are_a_contradiction():
    answers = CheckAnswers({"additions": 0.25})
    answers.record(ADDITIONS, 0.2)
    assert "20 % faster" in answers.disturbance(ALL)
    assert answers.contradiction(ALL) == ""
    for _ in range(5):
        answers.record(ADDITIONS, 0.2)
    assert "no clock on this computer" in answers.contradiction(ALL)

"""Cores of rvsim, which are not written by this project, execute what agents execute."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest

from inference.agent.targets import riscv64
from inference.core.errors import InvalidInputError
from inference.core.front_end import read_front_end
from inference.isa.bodies import front_end_maker
from inference.isa.code.block import BlockError
from inference.isa.front_end import Aspect, TimedCode
from inference.measuring.blocks import item_for_code
from inference.measuring.rvsim_core import IN_ORDER, NOT_INSTALLED, RvsimCore

ISA = "RISC-V"
is_installed = importlib.util.find_spec("rvsim") is not None
needs_rvsim = pytest.mark.skipif(not is_installed, reason="rvsim is not installed")


@pytest.mark.skipif(is_installed, reason="rvsim is installed")
def test_what_is_missing_is_said() -> None:
    with pytest.raises(InvalidInputError) as error:
        RvsimCore("p550")
    assert str(error.value) == NOT_INSTALLED


@needs_rvsim
def test_an_unknown_core_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(InvalidInputError, match=r"no core 'p551': the cores are .*p550.*in-order"):
        RvsimCore("p551")


@needs_rvsim
@pytest.mark.parametrize(
    ("name", "cycles"), [("p550", (1 / 3, 1, 1, 1)), (IN_ORDER, (1 / 2, 1, 1 / 2, 1 / 2))]
)
def test_blocks_with_known_answers_take_as_configured(name: str, cycles: tuple[float, ...]) -> None:
    core = RvsimCore(name)
    for block, expected in zip(riscv64.checks(), cycles, strict=True):
        # The loop itself and fetching cost up to a fifth of a cycle per instruction.
        assert expected - 0.01 <= core.cycles(riscv64.frame(), block.item) <= expected + 0.2


@needs_rvsim
@pytest.mark.parametrize(("name", "in_order"), [("p550", False), (IN_ORDER, True)])
def test_the_probe_tells_the_order_of_issue(name: str, in_order: bool) -> None:
    core = RvsimCore(name)
    codes = [
        code for code in front_end_maker(ISA).front_end_codes(offsets=False) if code.aspect is Aspect.ORDER
    ]
    issue = read_front_end(
        (code, core.cycles(*item_for_code(code.code, (), ISA, leads_back=False))) for code in codes
    ).issue
    assert issue is not None
    assert issue.in_order == in_order


@needs_rvsim
def test_code_that_traps_fails_with_a_reason() -> None:
    frame, item = item_for_code(TimedCode(bytes.fromhex("73001000"), 1, loop=True), (), ISA, leads_back=False)
    with pytest.raises(BlockError, match="traps"):  # ebreak
        RvsimCore(IN_ORDER).cycles(frame, item)


@needs_rvsim
def test_identities_differ_by_core() -> None:
    assert RvsimCore("p550").identity != RvsimCore(IN_ORDER).identity
    assert replace(RvsimCore("p550")).identity == RvsimCore("p550").identity

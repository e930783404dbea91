"""What a core model does not describe, taken from the nearest scheme that it does."""

from __future__ import annotations

import pytest

from inference.core.core_model import Assumptions, BoundKind, CorePrediction
from inference.core.core_model.blocks import CoreModelBlocks
from inference.isa.x86.blocks import Block, read_blocks
from tests.core.core_model.test_bounds import ADD, CORE, IMUL, LOAD

NEAREST = Assumptions(nearest=True)


def block(code: str) -> Block:
    (found,) = read_blocks(code, 1)
    return found


def predicted(code: str) -> CorePrediction:
    return CoreModelBlocks(CORE, NEAREST).predict(block(code))


def bound(found: CorePrediction, kind: BoundKind) -> float:
    (cycles,) = [one.cycles for one in found.bounds if one.kind is kind]
    return cycles


@pytest.mark.parametrize(
    ("code", "nearest", "differs"),
    [
        ("add eax, ebx", ADD, "other width"),
        ("imul ax, bx", IMUL, "other width"),
        ("add rax, qword ptr [rsi]", ADD, "memory beside the form with registers"),
        ("add rax, 5", ADD, "register for the immediate"),
    ],
)
def test_the_nearest_scheme_is_named_with_the_difference(code: str, nearest: str, differs: str) -> None:
    found = predicted(code)
    assert found.unknown == ()
    (taken,) = found.taken
    assert (taken.nearest, taken.differs) == (nearest, differs)
    assert taken.scheme == block(code).instructions[0].scheme


def test_it_has_the_latencies_and_ports_of_the_nearest_with_a_load_for_memory() -> None:
    assert bound(predicted("imul eax, ebx"), BoundKind.DEPENDENCES) == 3
    chased = predicted("add rsi, qword ptr [rsi]")
    assert bound(chased, BoundKind.DEPENDENCES) == 6  # the load's 5, and the addition
    assert (
        bound(predicted("\n".join(["add rax, qword ptr [rsi]"] * 3)), BoundKind.PORTS) == 3
    )  # one load port


def test_idioms_hold_for_other_widths_of_whole_registers() -> None:
    assert bound(predicted("xor eax, eax\nimul eax, ebx"), BoundKind.DEPENDENCES) == 0
    assert bound(predicted("xor ax, ax\nimul ax, bx"), BoundKind.DEPENDENCES) > 0


def test_other_operations_stay_unknown_and_what_is_known_is_not_taken() -> None:
    found = predicted("bsf rax, rbx\nadd rax, rbx")
    assert found.unknown == ("bsf GPR[64]:RW, GPR[64]:R",)
    assert found.taken == ()
    assert LOAD not in {one.scheme for one in predicted("mov rax, qword ptr [rsi]").taken}


def test_without_the_option_nothing_is_taken() -> None:
    found = CoreModelBlocks(CORE, Assumptions()).predict(block("add eax, ebx"))
    assert (found.unknown, found.taken) == (("add GPR[32]:RW, GPR[32]:R",), ())


def test_each_block_tells_what_was_taken_in_it_alone() -> None:
    explained = CoreModelBlocks(CORE, NEAREST)
    assert len(explained.predict(block("add eax, ebx")).taken) == 1
    assert explained.predict(block("imul rax, rbx")).taken == ()
    again = explained.predict(block("add eax, ebx"))
    assert [one.nearest for one in again.taken] == [ADD]

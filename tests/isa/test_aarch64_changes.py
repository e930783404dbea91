"""Changes of AArch64 blocks cut what passes from one execution to the next, and nothing else."""

from __future__ import annotations

from random import Random

import pytest

from anica_app.core.block_domain import BlockDomain
from inference.isa.aarch64.changes import CHANGES
from inference.isa.aarch64.decoding import decoded
from inference.isa.aarch64.statements import read_instruction
from inference.isa.block_changes import BlockChange, CarrierKind, CarrierRole, ChangeKind
from inference.isa.blocks import BlockError
from inference.isa.targets import AARCH64
from inference.isa.words.accesses import word_accesses
from inference.isa.words.changes import ChangedWordBlock


def code_of(text: str) -> bytes:
    words = [read_instruction(line).word() for line in text.splitlines()]
    assert all(word is not None for word in words), text
    return b"".join((word or 0).to_bytes(4, "little") for word in words)


def block_of(text: str, *, executes: bool = False) -> ChangedWordBlock:
    return CHANGES.changed_block(code_of(text), executes=executes)


def change_of(changes: list[BlockChange], kind: ChangeKind) -> BlockChange:
    (change,) = [change for change in changes if change.kind is kind]
    return change


def test_what_a_block_writes_are_its_carriers() -> None:
    block = block_of(
        "add x0, x0, x1\nstr x0, [x19, #64]\nldr x2, [x19, #64]\nfmul v3.4s, v4.4s, v5.4s\ncmp x0, x1"
    )
    carriers = {carrier.name: (carrier.kind, carrier.role) for carrier in block.carriers}
    assert carriers == {
        "x0": (CarrierKind.REGISTER, CarrierRole.ACCUMULATOR),
        "x2": (CarrierKind.REGISTER, CarrierRole.RESULT),
        "v3": (CarrierKind.REGISTER, CarrierRole.RESULT),
        "flags": (CarrierKind.FLAGS, CarrierRole.RESULT),
        "[x19, #64]": (CarrierKind.MEMORY, CarrierRole.BETWEEN),
    }


def test_one_instruction_cuts_each_carrier_before_the_copies() -> None:
    text = "add x0, x0, x1\nfadd d3, d3, d4\nadcs x5, x6, x7\nstr q3, [x20, #128]"
    block = block_of(text)
    change = change_of(block.initial_changes(), ChangeKind.CUT_ALL)
    cuts = "add x0, x19, #0\nadd x5, x19, #0\nldr q3, [x19]\ncmp x19, x19\nstr q31, [x20, #128]"
    assert change.code == code_of(cuts) + code_of(text) * block.copies
    assert [carrier.name for carrier in change.cut] == ["x0", "x5", "v3", "flags", "[x20, #128]"]
    everywhere = change_of(block.cut_everywhere(), ChangeKind.CUT_EVERYWHERE)
    first = code_of(
        "add x0, x19, #0\nadd x0, x0, x1\nldr q3, [x19]\nfadd d3, d3, d4\ncmp x19, x19\nadcs x5, x6, x7"
    )
    assert everywhere.code.startswith(first)


def test_a_moved_base_stays_an_address_and_is_no_place_to_store_to() -> None:
    block = block_of("str x0, [x22], #8\nldr x1, [x23, #16]!")
    assert [carrier.name for carrier in block.carriers] == ["x1", "x22", "x23"]
    assert block.cut(block.carriers, ChangeKind.CUT_ALL).code.startswith(
        code_of("add x1, x19, #0\nadd x22, x19, #0\nadd x23, x19, #0")
    )
    assert not block.registers_for_loads()


def test_the_stack_pointer_is_not_changed_where_blocks_are_executed() -> None:
    text = "stp x0, x1, [sp, #-16]!"
    assert [carrier.kind for carrier in block_of(text).carriers] == [CarrierKind.STACK]
    assert not block_of(text, executes=True).carriers


def test_loads_come_before_stores_or_are_moves() -> None:
    block = block_of("str x0, [x19, #64]\nldr x1, [x19, #128]\nldp q2, q3, [x20]")
    (first,) = block.loads_before_stores()
    loads, stores = "ldr x1, [x19, #128]\nldp q2, q3, [x20]", "str x0, [x19, #64]"
    assert first.code == code_of(loads) * block.copies + code_of(stores) * block.copies
    (registers,) = block.registers_for_loads()
    moves = "str x0, [x19, #64]\nadd x1, x19, #0\nmov v2.16b, v31.16b\nmov v3.16b, v31.16b"
    assert registers.code == code_of(moves) * block.copies
    assert not block_of("str x0, [x19, #64]\nldr x1, [x19, #68]").registers_for_loads()
    assert not block_of("ldr x1, [x19]").loads_before_stores()


@pytest.mark.parametrize("code", [b"", b"\x20\x00\x02", b"\xff\xff\xff\xff"])
def test_what_is_no_block_is_refused(code: bytes) -> None:
    with pytest.raises(BlockError, match="no basic block"):
        CHANGES.changed_block(code)


def test_changes_of_random_blocks_are_code_without_the_dependencies_that_they_cut() -> None:
    domain = BlockDomain.of(isa=AARCH64)
    random = Random(3)
    for _ in range(150):
        sampled = domain.sample(domain.unconstrained(4), random)
        assert sampled is not None
        block = CHANGES.changed_block(sampled.code)
        changes = [*block.initial_changes(), *block.cut_everywhere(), *block.loads_before_stores()]
        for change in [*changes, *block.registers_for_loads()]:
            assert all(step.form is not None for step in decoded(change.code))
        for change in block.cut_everywhere():
            assert not passed_locations(block, change)


def passed_locations(block: ChangedWordBlock, change: BlockChange) -> set[str]:
    """What an instruction of the block reads although the change cuts it, and another one wrote it."""
    registers = [carrier for carrier in change.cut if carrier.kind is CarrierKind.REGISTER]
    cuts = {block.cut((carrier,), change.kind).code[:4]: location_of(carrier.name) for carrier in registers}
    passed: set[str] = set()
    stale: set[str] = set()
    for step in decoded(change.code):
        accesses = word_accesses(step)
        if (cut := cuts.get(step.word.to_bytes(4, "little"))) is not None:
            stale.discard(cut)
            continue
        passed |= {access.location for access in accesses.reads} & stale
        stale |= {access.location for access in accesses.writes} & {*cuts.values()}
    return passed


def location_of(name: str) -> str:
    return f"{'general' if name.startswith('x') else 'vector'} {name[1:]}"

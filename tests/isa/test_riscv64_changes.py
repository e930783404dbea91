"""Changes of RISC-V blocks cut what passes from one execution to the next."""

from __future__ import annotations

from random import Random

from anica_app.core.block_domain import BlockDomain
from inference.isa.block_changes import BlockChange, CarrierKind, CarrierRole, ChangeKind
from inference.isa.riscv64.changes import CHANGES
from inference.isa.riscv64.decoding import decoded
from inference.isa.riscv64.printing import text_of
from inference.isa.riscv64.statements import read
from inference.isa.targets import RISCV, target_of
from inference.isa.words.changes import ChangedWordBlock


def block_of(text: str, *, compressed: bool = False, executes: bool = False) -> ChangedWordBlock:
    codes = [part.code() for line in text.splitlines() for part in read(line, compressed)]
    assert None not in codes
    return CHANGES.changed_block(b"".join(code or b"" for code in codes), executes=executes)


def texts_of(change: BlockChange) -> list[str]:
    return [text_of(step) for step in decoded(change.code)]


def change_of(changes: list[BlockChange], kind: ChangeKind) -> BlockChange:
    (change,) = [change for change in changes if change.kind is kind]
    return change


def test_what_a_block_writes_are_its_carriers() -> None:
    block = block_of("add a0, a0, a1\nsd a0, 8(s2)\nld a2, 8(s2)\nfmul.d fa3, fa4, fa5\naddi sp, sp, 16")
    carriers = {carrier.name: (carrier.kind, carrier.role) for carrier in block.carriers}
    assert carriers == {
        "a0": (CarrierKind.REGISTER, CarrierRole.ACCUMULATOR),
        "a2": (CarrierKind.REGISTER, CarrierRole.RESULT),
        "fa3": (CarrierKind.REGISTER, CarrierRole.RESULT),
        "sp": (CarrierKind.STACK, CarrierRole.ACCUMULATOR),
        "[s2, #8]": (CarrierKind.MEMORY, CarrierRole.BETWEEN),
    }
    assert "sp" not in {carrier.name for carrier in block_of("addi sp, sp, 16", executes=True).carriers}


def test_one_instruction_cuts_each_carrier() -> None:
    block = block_of("add a0, a0, a1\nfadd.d fa3, fa3, fa4\nsd a0, 8(s2)")
    change = change_of(block.initial_changes(), ChangeKind.CUT_ALL)
    assert texts_of(change)[:3] == ["fld fa3, 0(s2)", "mv a0, s2", "sd zero, 8(s2)"]


def test_vectors_are_cut_and_moved_in_any_mode() -> None:
    block = block_of("vsetvli t0, a0, e32, m1, ta, ma\nvle32.v v8, (a1)\nvadd.vv v9, v9, v8")
    cut = change_of(block.initial_changes(), ChangeKind.CUT_ALL)
    assert "vl1re8.v v9, (s2)" in texts_of(cut)
    (registers,) = block.registers_for_loads()
    assert texts_of(registers)[1] == "vmv1r.v v8, v31"


def test_compressed_stores_store_other_data_in_full_length() -> None:
    block = block_of("sd a0, 8(a5)\nadd a0, a0, a1", compressed=True)
    cut = change_of(block.initial_changes(), ChangeKind.CUT_ALL)
    assert "sd zero, 8(a5)" in texts_of(cut)


def test_changes_of_random_blocks_are_code() -> None:
    assert target_of(RISCV).changes is CHANGES
    domain = BlockDomain.of(isa=RISCV)
    random = Random(3)
    for _ in range(100):
        sampled = domain.sample(domain.unconstrained(4), random)
        assert sampled is not None
        block = CHANGES.changed_block(sampled.code)
        changes = [*block.initial_changes(), *block.cut_everywhere(), *block.loads_before_stores()]
        for change in [*changes, *block.registers_for_loads()]:
            assert all(step.form is not None for step in decoded(change.code))

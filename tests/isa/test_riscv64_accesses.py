"""Reads and writes of RISC-V code: those of the document are QEMU's, and blocks have their addresses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from inference.core.core_model.stored_values import last_write
from inference.isa.code.block import Block
from inference.isa.dependences import OperandAccess, Reduction
from inference.isa.riscv64.accesses import ACCESSES
from inference.isa.riscv64.blocks import BLOCKS
from inference.isa.riscv64.decoding import decode, table
from inference.isa.riscv64.statements import read
from inference.isa.riscv64.vector import forms
from inference.isa.words.accesses import (
    GENERAL,
    DecodedInstruction,
    InMemory,
    RegisterPart,
    locations_of,
    word_accesses,
)
from inference.isa.words.table import WordForm
from tests.isa.access_experiment import Case, Observed, observe
from tests.isa.riscv64_experiment import POINTER, RISCV
from tests.isa.riscv64_program import HAS_ZICOND, needs_qemu

NOT_EXECUTED = ("interrupt", "system", "fence")
"""Categories: they end the program, or read what no register holds."""

NOT_KNOWN = set() if HAS_ZICOND else {"czero.eqz", "czero.nez"}
"""Those that an older QEMU does not execute."""

NOT_DRAWN = {"ret", "jr", "jalr", "c.jr", "c.jalr"}
"""Jumps to a register."""

NOT_SEEN: set[str] = set()
TRIES, WORDS = 20, 2000


def case_of(decoded: DecodedInstruction) -> Case | None:
    """The experiment with an instruction; None where its registers make none possible."""
    parts = [value for value in decoded.operands if isinstance(value, RegisterPart)]
    places = [value for value in decoded.operands if isinstance(value, InMemory)]
    bases = [place.base for place in places if place.base is not None]
    if POINTER in bases or 0 in bases or (GENERAL, POINTER) in {(part.bank, part.number) for part in parts}:
        return None
    if any(f"{GENERAL} {base}" in locations_of(part) for base in bases for part in parts):
        return None
    addresses = {place.base: -place.displacement for place in places if place.base is not None}
    return Case(decoded.code, addresses)


def drawn(form: WordForm, dice: Random) -> DecodedInstruction | None:
    """A random instruction of a form that can be executed; None without one."""
    bits = form.encoding.bits
    free = ~form.encoding.mask & (1 << bits) - 1
    for _ in range(WORDS):
        word: int | None = form.encoding.match | dice.getrandbits(bits) & free
        entry = table().decode(word or 0)
        if entry is None or entry[0] is not form:
            continue
        if form.encoding.flow != "next":
            if form.form.mnemonic in NOT_DRAWN:
                return None
            word = form.word([*entry[1][:-1], 8])
        if word is not None and case_of(decode(word)) is not None:
            return decode(word)
    return None


def location(access: OperandAccess) -> str:
    return "memory" if access.memory is not None else access.location


def expected(decoded: DecodedInstruction) -> Observed:
    accesses = word_accesses(decoded)
    return Observed(frozenset(map(location, accesses.reads)), frozenset(map(location, accesses.writes)))


def exceeds(observed: Observed, stated: Observed) -> bool:
    return not (observed.read <= stated.read and observed.written <= stated.written)


@needs_qemu
def test_every_form_reads_and_writes_what_qemu_does(tmp_path: Path) -> None:
    """Some values show no read: a comparison with an equal number. Then another instruction may."""
    dice = Random(1)
    vectors = {scheme.text for scheme in forms().schemes}
    remaining = [
        form
        for form in table().forms
        if form.form.category not in NOT_EXECUTED
        and form.form.mnemonic not in NOT_KNOWN
        and form.form.text not in vectors
    ]
    undrawn: set[str] = set()
    for _ in range(TRIES):
        words = {form.form.text: drawn(form, dice) for form in remaining}
        undrawn |= {text for text, word in words.items() if word is None}
        cases = {text: (word, case) for text, word in words.items() if word and (case := case_of(word))}
        seen = observe(RISCV, [case for _, case in cases.values()], tmp_path / "program")
        wanted = [expected(word) for word, _ in cases.values()]
        pairs = dict(zip(cases, zip(seen, wanted, strict=True), strict=True))
        assert not {text: pair for text, pair in pairs.items() if exceeds(*pair)}
        remaining = [form for form in remaining if len(set(pairs.get(form.form.text, ()))) > 1]
    assert {form.form.text for form in remaining} <= NOT_SEEN
    assert {text.partition(" ")[0] for text in undrawn} <= NOT_DRAWN


_MET = [(1, "general 13"), (2, "general 13"), (4, "general 15"), (4, "memory")]


def block(*lines: str) -> Block:
    code = b"".join(instruction.code() or b"" for line in lines for instruction in read(line))
    return BLOCKS.block_of_bytes(code)


@pytest.mark.parametrize(
    ("lines", "reads"),
    [
        (("sd a0, 0(a1)", "ld a2, 0(a1)"), [(1, "memory")]),
        (("sd a0, 8(a1)", "ld a2, 0(a1)"), []),
        (
            ("sd a0, 0(a1)", "addi a1, a1, 8", "ld a2, -8(a1)"),
            [(0, "general 11"), (1, "general 11"), (2, "general 11"), (2, "memory")],
        ),
        (("slli a3, a4, 3", "add a3, a3, a1", "sd a0, 0(a3)", "sh3add a5, a4, a1", "ld a2, 0(a5)"), _MET),
        (("fsd fa0, 8(sp)", "fld fa1, 8(sp)"), [(1, "memory")]),
        (("li a0, 5", "addi a1, a0, 1", "mv a0, zero"), [(1, "general 10")]),
        (("add zero, a0, a1", "add a3, zero, a1"), []),
        (("fmadd.d fa0, fa1, fa2, fa0",), [(0, "float 10")]),
        (("amoadd.d a0, a1, (a2)", "ld a3, 0(a2)"), [(0, "memory"), (1, "memory")]),
    ],
)
def test_what_waits_for_what(lines: Sequence[str], reads: list[tuple[int, str]]) -> None:
    entries = ACCESSES.accesses_of(block(*lines))
    assert [
        (place, read.location or "memory")
        for place, entry in enumerate(entries)
        for read in entry.reads
        if (last := last_write(entries, place, read)) is not None
        and (last.iterations or last.writer != place)
    ] == reads


@pytest.mark.parametrize(
    ("lines", "step"),
    [
        (("ld a2, 0(a1)", "sd a2, 0(a3)", "addi a1, a1, 16"), 16),
        (("ld a2, 0(a1)", "sd a2, 0(a3)", "c.addi16sp sp, 32", "mv a1, sp"), 32),
        (("ld a2, 0(a1)", "sd a2, 0(a3)", "li a4, -16", "add a1, a1, a4"), -16),
        (("ld a2, 0(a1)", "sd a2, 0(a3)", "lui a4, 1", "sub a1, a1, a4"), -4096),
        (("ld a2, 0(a1)", "sd a2, 0(a3)", "li a4, 3", "sh2add a1, a4, a1"), 12),
        (("ld a2, 0(a1)", "sd a2, 0(a3)", "li a4, -1", "zext.w a4, a4", "add a1, a1, a4"), (1 << 32) - 1),
        (("ld a2, 0(a1)", "sd a2, 0(a3)", "li a4, -8", "srliw a4, a4, 28", "add a1, a1, a4"), 15),
        (("lw a2, 0(a1)", "sd a2, 0(a3)", "xori a1, a1, 8"), None),
        (("lw a2, 0(a1)", "sd a2, 0(a3)", "ld a1, 0(a1)"), None),
    ],
)
def test_addresses_move_by_so_many_bytes(lines: Sequence[str], step: int | None) -> None:
    entry = ACCESSES.accesses_of(block(*lines, "bnez a5, 0"))[0]
    (place,) = (access.memory for access in entry.reads if access.memory is not None)
    assert place.step == step


@pytest.mark.parametrize(
    ("line", "reduction"),
    [
        ("add a0, a0, a1", Reduction(("2", "3"), True)),
        ("sub a0, a0, a1", Reduction(("2",), True)),
        ("sh1add a0, a1, a0", Reduction(("3",), True)),
        ("fadd.d fa0, fa0, fa1", Reduction(("2", "3"), False)),
        ("fmadd.s fa0, fa1, fa2, fa0", Reduction(("4",), False)),
        ("fmsub.s fa0, fa1, fa2, fa0", None),
        ("addi a0, a0, 1", None),
        ("div a0, a0, a1", None),
    ],
)
def test_reductions_may_be_regrouped(line: str, reduction: Reduction | None) -> None:
    assert ACCESSES.reduction_of(block(line).instructions[0]) == reduction


def test_inputs_of_a_block_are_what_it_reads_before_it_writes() -> None:
    lines = ("ld a2, 0(a1)", "add a3, a2, a4", "fadd.d fa0, fa1, fa0", "addi sp, sp, 16", "mv a4, zero")
    reads = ACCESSES.reads_of([instruction.code for instruction in block(*lines).instructions])
    assert [entry.name for entry in reads.inputs] == ["a4", "fa0, fa1", "memory"]
    assert reads.addresses == {"a1"}
    assert ACCESSES.name_of_location("general 2") == "sp"

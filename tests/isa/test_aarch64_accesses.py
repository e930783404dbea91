"""Reads and writes of AArch64 code: those of the document are QEMU's, and blocks have their addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from inference.core.core_model.stored_values import last_write
from inference.isa.aarch64 import STACK_POINTER
from inference.isa.aarch64.accesses import ACCESSES
from inference.isa.aarch64.block_frame import FRAMER
from inference.isa.aarch64.blocks import BLOCKS
from inference.isa.aarch64.decoding import decode, decoded, table
from inference.isa.code.block import Block
from inference.isa.dependences import OperandAccess, Reduction
from inference.isa.machine_bodies import LoopSize
from inference.isa.words.accesses import (
    GENERAL,
    DecodedInstruction,
    InMemory,
    OperandValue,
    RegisterPart,
    locations_of,
    word_accesses,
)
from inference.isa.words.table import WordForm
from tests.isa.aarch64_experiment import AARCH64
from tests.isa.aarch64_program import machine_code, needs_llvm_mc, needs_qemu
from tests.isa.access_experiment import Case, Observed, observe

NOT_EXECUTED = ("interrupt", "system", "wait")
"""Categories: they end the program, or read what no register holds."""

NOT_DRAWN = {"ret", "retaa", "retab", "br", "braa", "brab", "blr", "blraa", "blrab", "eret", "hint", "mov"}
"""Jumps to a register, and forms that a more special one always hides."""

NOT_SEEN = re.compile(r"prfu?m .*|aut\w+( .*)?")
"""What it reads is not seen: a prefetch has no result, and authentication fails whatever the modifier is."""

WITH_STACK_POINTER = re.compile(r"(?:pac|aut)i[ab]sp")
"""Compute with the stack pointer, which addresses the records."""

TRIES, WORDS = 20, 2000  # half of the tries show no read of memory by `stumaxl`


def case_of(decoded: DecodedInstruction) -> Case | None:
    """The experiment with an instruction; None where its registers or its target make none possible."""
    parts = [value for value in decoded.operands if isinstance(value, RegisterPart)]
    if (GENERAL, STACK_POINTER) in {(part.bank, part.number) for part in parts}:
        return None  # it addresses the records
    addresses: dict[int, int] = {}
    indices: list[int] = []
    for place in decoded.operands:
        if not isinstance(place, InMemory) or place.base is None:
            continue
        if place.base == STACK_POINTER:
            return None
        index = [] if place.index is None else [place.index]
        if f"{GENERAL} {place.base}" in {name for part in (*parts, *index) for name in locations_of(part)}:
            return None
        addresses[place.base] = 0 if place.moves == "post" else -place.displacement
        if place.moves != "post":
            indices += [part.number for part in index if part.bank == GENERAL]
    return Case(decoded.word.to_bytes(4, "little"), addresses, indices)


def near(value: OperandValue) -> OperandValue:
    """The operand; a constant in the code lies just behind the instruction."""
    if isinstance(value, InMemory) and value.base is None and value.bits:
        return replace(value, displacement=8)
    return value


def drawn(form: WordForm, dice: Random) -> DecodedInstruction | None:
    """A random instruction of a form that can be executed; None without one."""
    free = ~form.encoding.mask & 0xFFFF_FFFF
    for _ in range(WORDS):
        entry = table().decode(form.encoding.match | dice.getrandbits(32) & free)
        if entry is None or entry[0] is not form:
            continue
        operands = list(map(near, entry[1]))
        if form.encoding.flow != "next":
            if not form.form.operands or form.form.operands[len(operands) - 1].kind != "branch":
                return None  # where it leads is not known
            operands[-1] = 8
        word = form.word(operands)
        if word is None or table().decode(word) != (form, tuple(operands)):
            continue
        if case_of(decode(word)) is not None:
            return decode(word)
    return None


def expected(decoded: DecodedInstruction) -> Observed:
    accesses = word_accesses(decoded)
    in_code = any(isinstance(value, InMemory) and value.base is None for value in decoded.operands)
    reads = {name for name in map(location, accesses.reads) if not (in_code and name == "memory")}
    return Observed(frozenset(reads), frozenset(map(location, accesses.writes)))


def location(access: OperandAccess) -> str:
    if access.memory is not None:
        return "memory"
    return "flags" if access.location.startswith("flag") else access.location


def exceeds(observed: Observed, stated: Observed) -> bool:
    return not (observed.read <= stated.read and observed.written <= stated.written)


@needs_qemu
def test_every_form_reads_and_writes_what_qemu_does(tmp_path: Path) -> None:
    """Some values show no read: a comparison with an equal number. Then another instruction may."""
    dice = Random(1)
    remaining = [
        form
        for form in table().forms
        if form.form.category not in NOT_EXECUTED and not WITH_STACK_POINTER.fullmatch(form.form.text)
    ]
    undrawn: set[str] = set()
    for _ in range(TRIES):
        words = {form.form.text: drawn(form, dice) for form in remaining}
        undrawn |= {text for text, word in words.items() if word is None}
        cases = {text: (word, case) for text, word in words.items() if word and (case := case_of(word))}
        seen = observe(AARCH64, [case for _, case in cases.values()], tmp_path / "program")
        wanted = [expected(word) for word, _ in cases.values()]
        pairs = dict(zip(cases, zip(seen, wanted, strict=True), strict=True))
        assert not {text: pair for text, pair in pairs.items() if exceeds(*pair)}
        remaining = [form for form in remaining if len(set(pairs.get(form.form.text, ()))) > 1]
    assert not [form.form.text for form in remaining if not NOT_SEEN.fullmatch(form.form.text)]
    assert {text.partition(" ")[0] for text in undrawn} <= NOT_DRAWN


def block(*lines: str) -> Block:
    return BLOCKS.block_of_bytes(machine_code(lines))


def dependent(*lines: str) -> list[tuple[int, str]]:
    """(reader, location) of each read of what the same iteration or the one before has written."""
    entries = ACCESSES.accesses_of(block(*lines))
    return [
        (place, read.location or "memory")
        for place, entry in enumerate(entries)
        for read in entry.reads
        if (last := last_write(entries, place, read)) is not None
        and (last.iterations or last.writer != place)
    ]


@needs_llvm_mc
@pytest.mark.parametrize(
    ("lines", "reads"),
    [
        (("str x0, [x1]", "ldr x2, [x1]"), [(1, "memory")]),
        (("str x0, [x1, #8]", "ldr x2, [x1]"), []),
        (("str x0, [x1, #8]!", "ldr x2, [x1]"), [(0, "general 1"), (1, "general 1"), (1, "memory")]),
        (("str x0, [x1], #8", "ldr x2, [x1, #-8]"), [(0, "general 1"), (1, "general 1"), (1, "memory")]),
        (("str x0, [x1], #8", "ldr x2, [x1]"), [(0, "general 1"), (1, "general 1")]),
        (("add x3, x1, #16", "str x0, [x3]", "ldr x2, [x1, #16]"), [(1, "general 3"), (2, "memory")]),
        (
            ("add x3, x1, x4, lsl #3", "str x0, [x3]", "ldr x2, [x1, x4, lsl #3]"),
            [(1, "general 3"), (2, "memory")],
        ),
        (("mov x3, sp", "str x0, [x3, #32]", "ldr x2, [sp, #32]"), [(1, "general 3"), (2, "memory")]),
        (("stp x0, x1, [sp]", "ldr x2, [sp, #8]"), [(1, "memory")]),
        (("stp x0, x1, [sp]", "ldr x2, [sp, #16]"), []),
        (("str q0, [x1]", "ldr d2, [x1, #8]"), [(1, "memory")]),
        (
            ("ldr x2, [x1], #8", "str x2, [x1]"),
            [(0, "general 1"), (0, "memory"), (1, "general 2"), (1, "general 1")],
        ),
        (("mla v0.4s, v1.4s, v2.4s",), [(0, "vector 0")]),
        (("fadd s0, s1, s2", "fadd d1, d0, d2"), [(0, "vector 1"), (1, "vector 0")]),
        (("add w0, w1, w2", "add x3, x0, xzr"), [(1, "general 0")]),
        (("mov xzr, x1", "add x3, xzr, x2"), []),
        (("cmp x0, x1", "csel x2, x3, x4, lo"), [(1, "flag n"), (1, "flag z"), (1, "flag c"), (1, "flag v")]),
        (("adcs x0, x1, x2",), [(0, "flag n"), (0, "flag z"), (0, "flag c"), (0, "flag v")]),
        (("ld2 {v31.16b, v0.16b}, [x0]", "add v1.16b, v0.16b, v31.16b"), [(1, "vector 0"), (1, "vector 31")]),
    ],
)
def test_what_waits_for_what(lines: Sequence[str], reads: list[tuple[int, str]]) -> None:
    assert dependent(*lines) == reads


@needs_llvm_mc
@pytest.mark.parametrize(
    ("lines", "step"),
    [
        (("ldr x2, [x1], #8", "str x2, [x1]"), 8),
        (("ldr x2, [x1, x3, lsl #3]", "str x2, [x1, x3, lsl #3]", "add x3, x3, #2"), 16),
        (("ldr w2, [x1, w3, sxtw #2]", "str x0, [x4]"), 0),
        (("ldr x2, [x1]", "str x0, [x4]", "ldr x1, [x2]"), None),
        (("ldr x2, [x1]", "str x0, [x4]", "sub x1, x1, #1, lsl #12"), -4096),
        (("ldr x2, [x1]", "str x0, [x4]", "orr x1, x1, #8"), None),
        (("ldp q0, q1, [x0], #32", "stp q0, q1, [x1], #32"), 32),
        (("ldr x2, [x1]", "str x0, [x4]", "mov x3, #-16", "add x1, x1, x3"), -16),
        (("ldr x2, [x1]", "str x0, [x4]", "movz x3, #2, lsl #16", "add x1, x1, x3"), 131072),
        (("ldr x2, [x1]", "str x0, [x4]", "add x1, x1, w9, uxtb"), None),
        (("ldr x2, [x1]", "str x0, [x4]", "mov w9, #300", "add x1, x1, w9, uxtb"), 44),
        (("ldr x2, [x1]", "str x0, [x4]", "mov w9, #3", "madd x1, x9, x9, x1"), 9),
    ],
)
def test_addresses_move_by_so_many_bytes(lines: Sequence[str], step: int | None) -> None:
    entry = ACCESSES.accesses_of(block(*lines, "cbnz x9, .+0"))[0]
    (place,) = (access.memory for access in entry.reads if access.memory is not None)
    assert place.step == step


@needs_llvm_mc
def test_registers_that_start_alike_lead_to_one_place() -> None:
    code = block("str x0, [x1]", "ldr x2, [x3, #8]", "ldr x4, [x5]")
    stored, other, loaded = (
        access.memory
        for entry in ACCESSES.accesses_of(code, equal_start=True)
        for access in (*entry.reads, *entry.writes)
        if access.memory is not None
    )
    assert stored.overlaps(loaded)
    assert not stored.overlaps(other)


@needs_llvm_mc
@pytest.mark.parametrize(
    ("lines", "names", "addresses"),
    [
        (("add x0, x1, w2, uxtb", "add x0, x0, #1"), ["x1", "w2"], set()),
        (("ldr x0, [x1, x2]", "str x3, [sp]"), ["x3", "memory"], {"x1", "x2", "sp"}),
        (("fmla v0.4s, v1.4s, v2.4s", "fmov x0, d0"), ["v0, v1, v2"], set()),
        (("mov x0, #1", "add x0, x0, x0"), [], set()),
        (("adds x0, xzr, xzr", "cset x1, eq"), [], set()),
    ],
)
def test_what_a_block_reads_before_it_writes_it(
    lines: Sequence[str], names: list[str], addresses: set[str]
) -> None:
    reads = ACCESSES.reads_of(instruction.code for instruction in block(*lines).instructions)
    assert [part.name for part in reads.inputs] == names
    assert reads.addresses == addresses


@needs_llvm_mc
@pytest.mark.parametrize(
    ("lines", "pairs", "others"),
    [
        (("cmp x0, #1", "csel x0, x1, x2, eq"), (), ("cmp reg, imm + csel",)),
        (("adrp x0, .", "add x0, x0, #8"), (), ("adrp + add",)),
        (("adrp x0, .", "add x1, x0, #8"), (), ()),
        (("aese v0.16b, v1.16b", "aesmc v0.16b, v0.16b"), (), ("aese + aesmc",)),
        (("aese v0.16b, v1.16b", "aesmc v2.16b, v0.16b"), (), ()),
        (("1: add x0, x0, #1", "cmp x0, x1", "b.ne 1b"), ("cmp reg, reg + b.cond",), ()),
        (("1: add x0, x0, #1", "cbnz x0, 1b"), ("",), ()),
        (("csel x0, x1, x2, eq", "cmp x0, x1"), (), ("cmp reg, reg + csel",)),
    ],
)
def test_pairs_that_a_core_may_fuse(
    lines: Sequence[str], pairs: tuple[str, ...], others: tuple[str, ...]
) -> None:
    assert (ACCESSES.pairs_of(block(*lines)), ACCESSES.moves_of(block(*lines))) == (pairs, others)
    assert len(ACCESSES.fused_places(block(*lines), {*pairs, *others} - {""})) == len(
        [*filter(None, pairs), *others]
    )


@needs_llvm_mc
@pytest.mark.parametrize(
    ("line", "reduction"),
    [
        ("add x0, x0, x1", Reduction(("2", "3"), is_exact=True)),
        ("sub x0, x0, x1", Reduction(("2",), is_exact=True)),
        ("add x0, x0, x1, lsl #3", Reduction(("2",), is_exact=True)),
        ("madd x0, x1, x2, x0", Reduction(("4",), is_exact=True)),
        ("fmadd d0, d1, d2, d0", Reduction(("4",), is_exact=False)),
        ("fmla v0.4s, v1.4s, v2.4s", Reduction(("1",), is_exact=False)),
        ("fadd s0, s0, s1", Reduction(("2", "3"), is_exact=False)),
        ("mov x0, x1", None),
        ("ldr x0, [x0]", None),
        ("cmp x0, x1", None),
    ],
)
def test_what_accumulates_a_value(line: str, reduction: Reduction | None) -> None:
    assert ACCESSES.reduction_of(block(line).instructions[0]) == reduction


@needs_llvm_mc
def test_stores_are_counted_and_locations_have_their_usual_names() -> None:
    lines = ("stp x0, x1, [sp]", "ldr x0, [x1]", "st1 {v0.16b}, [x0]")
    assert [ACCESSES.stores_of(instruction) for instruction in block(*lines).instructions] == [1, 0, 1]
    names = [ACCESSES.name_of_location(name) for name in ("general 31", "general 30", "vector 7", "flag c")]
    assert names == ["sp", "x30", "v7", "NZCV"]


@needs_llvm_mc
@pytest.mark.parametrize("text", ["add GPR[64]:W, GPR[64]:R, GPR[64]:R", "ldr GPR[64]:W, MEM[64]:R"])
def test_the_copies_of_a_measured_body_wait_for_nothing(text: str) -> None:
    body = ACCESSES.loop_body([(text, 1)])
    assert ACCESSES.loop_size([(text, 1)]) == LoopSize(len(body.instructions), body.size, body.copies)
    assert not [
        read
        for place, entry in enumerate(body.instructions)
        for read in entry.reads
        if last_write(body.instructions, place, read)
    ]


@needs_llvm_mc
@pytest.mark.parametrize(
    ("lines", "jumps"),
    [
        (("1: add x0, x0, #1", "cmp x0, x1", "b.ne 1b"), ["b.ne", "b"]),
        (("1: add x0, x0, #1", "tbz w0, #3, 1b"), ["tbz", "b"]),
        (("1: add x0, x0, #1", "b 1b"), ["b"]),
        (("1: " + "add x0, x0, #1", *["nop"] * 14, "cbnz x0, 1b"), ["cbnz", "b"]),
    ],
)
def test_an_iteration_ends_with_a_jump_to_the_next_one(lines: Sequence[str], jumps: list[str]) -> None:
    loop = block(*lines)
    iteration = FRAMER.iteration_of(loop)
    words = decoded(iteration.code[len(loop.body) :])
    assert len(iteration.code) % 64 == 0
    assert [word.mnemonic for word in words[: len(jumps)]] == jumps
    for place, word in enumerate(words[: len(jumps)]):
        assert len(loop.body) + 4 * place + (word.distance or 0) == len(iteration.code)
    assert {word.word for word in words[len(jumps) :]} <= {0}

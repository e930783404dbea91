"""Loop bodies of AArch64: copies that do not wait for each other, and one call of llvm-mc for many."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
from random import Random

import pytest

from inference.containment import Limits
from inference.isa import aarch64, llvm_mc
from inference.isa.aarch64.allocation import ADDRESSES, MEMORY, VALUES
from inference.isa.aarch64.assembling import CPU, FEATURES, TRIPLE, Assembler, LoopText
from inference.isa.blocks import accesses_of, block_of_bytes
from inference.isa.llvm_mc import AssemblerError
from inference.isa.machine_bodies import CannotMeasureError, interleave
from inference.isa.targets import AARCH64, target_of
from inference.isa.words.allocation import LINE, READ_SLOT
from tests.isa.aarch64_program import needs_llvm_mc

pytestmark = needs_llvm_mc

ADD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R"
DIVIDE = "sdiv GPR[64]:W, GPR[64]:R, GPR[64]:R"
BFI = "bfi GPR[64]:RW, GPR[64]:R, IMM[6]:R, IMM[6]:R"
MLA = "mla VEC[4S]:RW, VEC[4S]:R, VEC[4S]:R"
LOAD = "ldr GPR[64]:W, MEM[64,post]:R"
STORE = "str FPR[128]:R, MEM[128,base+index*16]:W"

MEASURABLE = [scheme.text for scheme in aarch64.instruction_set().schemes if not scheme.exclusion]
_REGISTER = re.compile(r"\b([wxbhsdqv])(\d+)\b")


def registers(operand: str) -> set[tuple[bool, int]]:
    """The registers that an operand names, as (is a vector, number)."""
    return {(letter not in "wx", int(number)) for letter, number in _REGISTER.findall(operand)}


def operands(line: str) -> list[str]:
    return re.split(r", (?![^\[{]*[\]}])", line.partition(" ")[2])


def accesses(text: str, line: str) -> tuple[set[tuple[bool, int]], set[tuple[bool, int]]]:
    """What an instance of the scheme reads and writes, chosen base registers included."""
    read: set[tuple[bool, int]] = set()
    written: set[tuple[bool, int]] = set()
    explicit = [one for one in aarch64.by_text()[text].operands if not one.implicit]
    moved = any(one.name == "base" for one in aarch64.by_text()[text].operands)
    shown = operands(line)
    for operand, part in zip(explicit, shown, strict=False):
        named = registers(part)
        if operand.kind == "memory":
            read |= named
            written |= named if moved else set()
        elif operand.kind == "register":
            read |= named if "R" in operand.access else set()
            written |= named if "W" in operand.access else set()
    return read, written


def random_experiments(count: int) -> list[list[tuple[str, int]]]:
    chosen = random.Random(8)
    return [[(chosen.choice(MEASURABLE), 1) for _ in range(chosen.randint(1, 4))] for _ in range(count)]


@pytest.mark.parametrize("terms", [[(ADD, 1)], [(MLA, 2), (ADD, 1)], [(LOAD, 1), (STORE, 1)]])
def test_a_body_has_about_a_hundred_instructions_and_a_half(terms: list[tuple[str, int]]):
    body = Assembler().unroll(terms)
    length = sum(count for _, count in terms)
    assert 100 <= len(body.lines) < 100 + length
    assert body.half_copies == body.copies // 2
    assert body.half_bytes == 4 * length * body.half_copies
    assert len(body.code) == 4 * len(body.lines)


@pytest.mark.parametrize(
    ("length", "instructions"), [(1, 1), (1, 2), (50, 100), (99, 100), (100, 100), (150, 100)]
)
def test_a_body_has_two_copies_where_one_or_two_have_the_instructions(length: int, instructions: int):
    body = Assembler().unroll([(ADD, length)], instructions)
    assert (body.copies, body.half_copies, len(body.lines)) == (2, 1, 2 * length)


def test_no_instance_reads_what_another_wrote_unless_the_operand_is_both():
    assembler = Assembler()
    for terms in random_experiments(150):
        body = assembler.unroll(terms, instructions=24)
        copy = len(body.lines) // body.copies
        order = [line.partition(" ")[0] for line in body.lines[:copy]]
        texts = _texts(terms, order)
        written_by_mere_writes: set[tuple[bool, int]] = set()
        chained: set[tuple[bool, int]] = set()
        read: set[tuple[bool, int]] = set()
        for k, line in enumerate(body.lines):
            reads, writes = accesses(texts[k % copy], line)
            read |= reads - writes
            written_by_mere_writes |= writes - reads
            chained |= reads & writes
        assert not read & (written_by_mere_writes | chained), terms
        assert not written_by_mere_writes & chained, terms


def _texts(terms: list[tuple[str, int]], mnemonics: list[str]) -> list[str]:
    """The schemes of one copy in their order (which is that of their texts where all occur once)."""
    texts = interleave(terms)
    assert [text.partition(" ")[0] for text in texts] == mnemonics
    return texts


@pytest.mark.parametrize(
    ("text", "least"), [(BFI, 10), (MLA, 28), (LOAD, 5), ("ldr GPR[64]:W, MEM[64]:R", 18)]
)
def test_registers_take_turns(text: str, least: int):
    written = [frozenset(accesses(text, line)[1]) for line in Assembler().unroll([(text, 1)]).lines]
    assert all(len(set(written[k : k + 5])) == 5 for k in range(len(written) - 5))
    assert len(frozenset().union(*written)) >= least


def test_different_chains_mix_evenly():
    lines = Assembler().unroll([(BFI, 1), ("movk GPR[64]:RW, IMM[16]:R", 1)]).lines
    by_register: dict[str, set[str]] = {}
    for line in lines:
        by_register.setdefault(operands(line)[0], set()).add(line.partition(" ")[0])
    assert all(mnemonics == {"bfi", "movk"} for mnemonics in by_register.values())


def test_loads_and_stores_have_lines_of_their_own_within_four_kibibytes():
    loads, stores = _lines(MEMORY_READS), _lines(MEMORY_WRITES)
    assert not loads & stores
    assert max(loads | stores) - min(loads | stores) < 4096 // LINE


MEMORY_READS = [text for text in MEASURABLE if aarch64.by_text()[text].memory == "R"]
MEMORY_WRITES = [text for text in MEASURABLE if aarch64.by_text()[text].memory == "W"]


def _lines(texts: list[str]) -> set[int]:
    """The cache lines, counted from the middle of the memory, that instances of these schemes touch."""
    assembler = Assembler()
    found = set()
    for text in texts:
        width = next(one.width for one in aarch64.by_text()[text].operands if one.kind == "memory") // 8
        for line in assembler.unroll([(text, 1)], instructions=30).lines:
            start = _address(line)
            assert start // LINE == (start + width - 1) // LINE, f"{line} crosses a line"
            found.add(start // LINE)
    return found


def _address(line: str) -> int:
    inside = line.partition("[")[2] if "}" not in line else line.rpartition("[")[2]
    parts = re.split(r", ?", inside.partition("]")[0])
    base = 0 if parts[0] == f"x{MEMORY}" else ADDRESSES[parts[0]]
    if len(parts) == 1:
        return base
    if parts[1].startswith("#"):
        return base + int(parts[1][1:])
    shift = int(parts[2].partition("#")[2] or 0) if len(parts) == 3 else 0
    return base + (VALUES["x" + parts[1][1:]] << shift)


def test_no_store_goes_to_the_line_of_the_one_before():
    for text in MEMORY_WRITES:
        lines = [_address(line) // LINE for line in Assembler().unroll([(text, 1)], instructions=20).lines]
        assert all(one != next_one for one, next_one in itertools.pairwise(lines)), text
    assert READ_SLOT == LINE


def test_the_order_of_terms_does_not_matter_and_that_of_an_order_does():
    assembler = Assembler()
    assert assembler.unroll([(ADD, 1), (MLA, 1)]).lines == assembler.unroll([(MLA, 1), (ADD, 1)]).lines
    ordered = assembler.unroll_in_order([MLA, ADD, ADD])
    assert [line.partition(" ")[0] for line in ordered.lines[:3]] == ["mla", "add", "add"]


def test_one_call_assembles_all_bodies_that_wait(monkeypatch: pytest.MonkeyPatch):
    calls = []

    def counted(lines, *arguments):
        calls.append(len(lines))
        return true(lines, *arguments)

    Assembler().unroll([(ADD, 1)])  # llvm-mc has been asked what it knows
    true = llvm_mc.assemble
    monkeypatch.setattr(llvm_mc, "assemble", counted)
    assembler = Assembler()
    bodies = [assembler.unroll(terms) for terms in random_experiments(8)]
    codes = [body.code for body in bodies]
    assert calls == [sum(len(body.lines) for body in bodies)]
    assert codes == [_alone(body) for body in bodies]
    later = assembler.unroll([(MLA, 1)])
    assert later.code == _alone(later)
    assert bodies[0].code == codes[0]


def _alone(body: LoopText) -> bytes:
    return llvm_mc.assemble(body.lines, TRIPLE, CPU, FEATURES).code


def test_the_code_is_what_the_text_says():
    assembler = Assembler()
    body = assembler.unroll([(text, 1) for text in MEASURABLE[::7]])
    hexadecimal = " ".join(f"0x{byte:02x}" for byte in body.code)
    program = llvm_mc.program()
    assert program is not None
    done = subprocess.run(
        [program, f"-triple={TRIPLE}", f"-mcpu={CPU}", f"-mattr={FEATURES}", "-disassemble"],
        input=hexadecimal.encode(), capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    lines = [
        line.strip() for line in done.stdout.decode().splitlines() if line.strip() and "." not in line[:2]
    ]
    assert len(lines) == len(body.lines)
    differing = [
        (ours, theirs)
        for ours, theirs in zip(body.lines, lines, strict=True)
        if _numbers(ours) != _numbers(theirs)
    ]
    assert len(differing) < 0.05 * len(lines)  # aliases: mul is madd with xzr, lsl is ubfm


def _numbers(line: str) -> list[str]:
    return [number for _, number in _REGISTER.findall(line)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("vaddps YMM:W, YMM:R, YMM:R", "no such scheme"), ("b REL[28]", "control flow"), (DIVIDE, "divides")],
)  # fmt: skip
def test_what_cannot_be_measured_says_so_by_name(text: str, reason: str):
    with pytest.raises(CannotMeasureError, match=reason) as caught:
        Assembler().unroll([(ADD, 1), (text, 1)])
    assert caught.value.scheme == text


def test_an_empty_experiment_and_an_impossible_count_are_refused():
    for terms in ([], [(ADD, 0)]):
        with pytest.raises(ValueError):  # noqa: PT011  not one of ours
            Assembler().unroll(terms)


def test_without_llvm_mc_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    body = Assembler().unroll([(ADD, 1)])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AssemblerError, match="apt install llvm"):
        _ = body.code


def test_an_assembler_that_hangs_or_fails_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path):
    program = tmp_path / "llvm-mc"
    monkeypatch.setattr(llvm_mc, "program", lambda: str(program))
    for script, seconds, message in (
        ("while :; do :; done", 0.3, "was ended for 1 lines: not done in its time"),
        ("echo no >&2; exit 3", 20.0, "no"),
        ("echo x", 20.0, "object file"),
    ):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(llvm_mc, "LIMITS", Limits(seconds=seconds))
        with pytest.raises(AssemblerError, match=message):
            llvm_mc.assemble(["nop"], "aarch64", "cortex-a72")


def test_a_line_that_is_no_instruction_is_named():
    done = llvm_mc.assemble(["nop", "frobnicate x0", "nop"], "aarch64", "cortex-a72")
    assert list(done.refused) == [1]
    assert done.code == b""


def test_dependent_blocks_share_few_registers() -> None:
    """Of a bank three to six registers are written and read; operands of an instruction differ."""
    maker = target_of(AARCH64).dependent_blocks
    assert maker is not None
    schemes = [ADD, MLA, LOAD, ADD, "add VEC[2S]:W, VEC[2S]:R, VEC[2S]:R", ADD, MLA]
    for seed in range(20):
        code = maker.dependent_block(schemes, Random(seed))
        assert code == maker.dependent_block(schemes, Random(seed))
        block = block_of_bytes(code, AARCH64)
        assert [instruction.scheme for instruction in block.instructions] == schemes
        rows = accesses_of(block)
        used = {access.location for row in rows for access in (*row.reads, *row.writes) if access.location}
        for bank in ("general", "vector"):
            assert len([name for name in used if name.startswith(bank)]) <= 6 + 1  # and the memory's
        for line in block.text.splitlines():
            named = [registers(operand) for operand in operands(line)]
            assert len(set().union(*named)) == sum(map(len, named)), line
    with pytest.raises(CannotMeasureError, match="no such scheme"):
        maker.dependent_block(["frob GPR[64]:W"], Random(1))

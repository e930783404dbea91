"""What compilers, disassemblers, debuggers and profilers print is read to the code that it stands for."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from iced_x86 import Decoder, Mnemonic

from benchmarks._reader_corpus import LEVELS, SYNTAXES, compiled
from benchmarks._reader_differences import compared
from benchmarks._reader_libraries import DISASSEMBLERS, Disassembler, Stretch, listed
from benchmarks._reader_same_code import differing
from inference.isa.blocks import read
from inference.isa.x86.assembly.reading import read_program
from tests.isa.golden_listings import make

EXPECTED: dict[str, list[str]] = json.loads(make.EXPECTED.read_text())
LOOP = "c5fa100c86c4e279a90c82c5fa110c8248ffc04839"
"""How the body of the loop in `saxpy` begins, as GCC compiles it."""


@cache
def golden(name: str) -> str:
    return (make.HERE / name).read_text()


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [name for name in programs if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_instruction_of_a_listing_has_its_bytes(name):
    found = []
    for one in read_program(golden(name)).instructions:
        decoded = Decoder(64, one.code, ip=one.address).decode()
        assert decoded.len == len(one.code)
        text = make.written(decoded, one.code)
        found.append(text.partition(" ")[0] if name.startswith(make.COMPILERS) else text)
    assert found == EXPECTED[name]


@pytest.mark.parametrize("name", [one for one in sorted(EXPECTED) if not one.startswith("clang")])
def test_the_loops_of_a_listing_are_found(name):
    reading = read(golden(name), 100)
    loops = [piece for piece in reading.pieces if piece.block.kind == "loop"]
    bodies = [piece.block.body.hex() for piece in loops]
    if "examine" not in name:
        assert len([body for body in bodies if body.startswith(LOOP)]) == 1
        assert len(loops) >= (2 if name.startswith("perf") else 3)
    assert all(piece.block.hex.startswith(piece.block.body.hex()) for piece in loops)
    assert all(piece.block.closing is not None for piece in loops)


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_a_profile_s_counts_come_with_its_pieces(syntax):
    pieces = read(golden(f"perf-{syntax}.txt"), 100).pieces
    busiest = max(pieces, key=lambda piece: piece.count or 0)
    assert busiest.block.kind == "loop"
    assert busiest.count is not None
    assert busiest.count > 90


@pytest.mark.parametrize("name", [one for one in sorted(EXPECTED) if "bare" in one])
def test_a_part_of_a_listing_is_read_like_all_of_it(name):
    lines = golden(name).splitlines()
    whole = {one.address: one.code for one in read_program("\n".join(lines)).instructions}
    middle = lines[len(lines) // 3 : len(lines) // 2]
    part = {one.address: one.code for one in read_program("\n".join(middle)).instructions}
    assert part
    last = max(part)  # whose length is told by the address behind it
    assert {at: code for at, code in part.items() if at != last} == {
        at: whole[at] for at in part if at != last
    }


@needs("gcc", "clang")
@pytest.mark.parametrize("level", ["O0", "O3", "O3-skylake-avx512"])
def test_compilers_output_is_the_code_that_is_assembled_from_it(level, tmp_path):
    for one in compiled([make.HERE / "kernel.c"], [level], tmp_path):
        total, differs = differing(one, read_program(one.text).instructions)
        assert total > 50
        assert not differs
        assert any(piece.block.kind == "loop" for piece in read(one.text, 1000).pieces)
    assert level in LEVELS


@needs("gcc", "objdump", "llvm-objdump")
@pytest.mark.parametrize("by", DISASSEMBLERS, ids=lambda by: by.name)
def test_what_a_disassembler_of_this_computer_lists_is_read_to_the_same_bytes(
    by: Disassembler, tmp_path: Path
):
    object_file = tmp_path / "kernel.so"
    command = ["gcc", "-O3", "-march=haswell", "-fPIC", "-shared", "-nostdlib", "-o", str(object_file)]
    subprocess.run([*command, str(make.HERE / "kernel.c")], check=True)
    found: Stretch = listed(object_file, by, ["-j", ".text"])
    outcome = compared(found)
    assert outcome.total > 100
    assert not outcome.rest


@needs("gcc", "gdb")
def test_what_a_debugger_of_this_computer_prints_is_read_to_the_same_bytes(tmp_path: Path):
    object_file = tmp_path / "kernel.so"
    command = ["gcc", "-O3", "-march=haswell", "-fPIC", "-shared", "-nostdlib", "-o", str(object_file)]
    subprocess.run([*command, str(make.HERE / "kernel.c")], check=True)
    for how in ("disassemble /r", "disassemble"):
        asked = ["gdb", "-batch", "-nx", "-ex", f"{how} characters", str(object_file)]
        said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        instructions = read_program(said).instructions
        codes = {one.address: one.code for one in instructions}
        if how == "disassemble /r":
            true = codes
    jumps = {Mnemonic.JE, Mnemonic.JNE, Mnemonic.JMP}
    assert {at: code for at, code in codes.items() if Decoder(64, code).decode().mnemonic not in jumps} == {
        at: code for at, code in true.items() if Decoder(64, code).decode().mnemonic not in jumps
    }

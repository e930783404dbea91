"""ELF files: which functions and loops they have, stripped or not, and what is refused."""

from __future__ import annotations

import struct
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.blocks import block_reader, object_file
from inference.isa.code.binaries.headers import MAX_SECTIONS, BinaryFileError
from inference.isa.code.binaries.loops import Loop, Search, loops_in, weighted_loops
from inference.isa.code.binaries.program import file_kind, read_program
from inference.isa.llvm_mc import program as llvm_mc_program
from inference.isa.targets import DEFAULT
from tests.compiled import compiled, tool
from tests.drawn import examples

LOOP = bytes.fromhex("4801d8ffc975f9")  # add rax, rbx; dec ecx; jne
SMALL = object_file(LOOP + b"\xc3", "work")


def loops(content: bytes, wanted: str = "") -> list[Loop]:
    program = read_program(content)
    return list(loops_in(program, program.functions(wanted), Search(), block_reader(DEFAULT)))


def changed(content: bytes, at: int, value: int, size: int = 2) -> bytes:
    return content[:at] + value.to_bytes(size, "little") + content[at + size :]


def test_functions_have_their_names_and_code() -> None:
    program = read_program(SMALL)
    (function,) = program.functions()
    assert (function.name, function.address, program.code(function)) == ("work", 0, LOOP + b"\xc3")
    assert program.addresses_of("work") == [0]
    (loop,) = loops(SMALL)
    assert (loop.start, loop.closing_address, loop.code, loop.instructions) == (0, 5, LOOP, 3)


@pytest.mark.parametrize("options", [("-c",), ("-pie", "-fPIE"), ("-no-pie",), ("-c", "-ffunction-sections")])
def test_loops_of_compiled_files_are_found_under_their_functions(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    content = compiled(tmp_path, *options).read_bytes()
    assert {"dot", "count"} <= {loop.function.name for loop in loops(content)}
    assert {loop.function.name for loop in loops(content, "do*")} == {"dot"}
    assert not any(one.name.startswith(".plt") for one in read_program(content).functions())


def test_a_stripped_file_has_the_same_loops(tmp_path: Path) -> None:
    path = compiled(tmp_path)
    before = {(loop.start, loop.code) for loop in loops(path.read_bytes())}
    stripped = tmp_path / "stripped"
    subprocess.run([tool("strip"), str(path), "-o", str(stripped)], check=True)
    assert before <= {(loop.start, loop.code) for loop in loops(stripped.read_bytes())}
    assert all(one.name.startswith(("sub_", ".")) for one in read_program(stripped.read_bytes()).functions())


def test_a_jump_that_the_linker_has_still_to_place_closes_no_loop(tmp_path: Path) -> None:
    source = tmp_path / "a.s"
    source.write_text(
        ".globl f\n.type f,@function\nf: add %rax, %rbx\n jne elsewhere\n dec %rcx\n jmp elsewhere\n"
        " nop\n.size f, .-f\n.globl g\n.type g,@function\n"
        "g: inc %rax\n dec %rcx\n jne g\n ret\n.size g, .-g\n"
    )
    made = tmp_path / "a.o"
    subprocess.run([tool("as"), "--64", str(source), "-o", str(made)], check=True)
    found = loops(made.read_bytes())
    assert [(loop.function.name, loop.instructions) for loop in found] == [("g", 3)]


def test_the_loops_are_those_of_the_listing_of_a_disassembler(tmp_path: Path) -> None:
    path = compiled(tmp_path)
    listed = subprocess.run(
        [tool("objdump"), "-d", "--no-show-raw-insn", str(path)], capture_output=True, text=True, check=True
    ).stdout
    addresses = {line.partition(":")[0].strip() for line in listed.splitlines() if line.startswith("  ")}
    for loop in loops(path.read_bytes()):
        assert {f"{address:x}" for address in loop.addresses} <= addresses


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"hello", "no compiled program; an object file, .* of x86-64, AArch64 or RISC-V"),
        (SMALL[:40], "ends after 40 bytes"),
        (SMALL[:-10], "it has been cut off"),
        (changed(SMALL, 18, 40), "this is an ARM file"),
        (changed(SMALL, 18, 21), "this is a .*PowerPC.* file"),
        (changed(SMALL, 18, 3), "32-bit x86 file"),
        (changed(changed(SMALL, 4, 1, 1), 18, 3), "32-bit x86 file"),
        (changed(SMALL, 5, 2, 1), "a machine-15872 file"),
        (changed(SMALL, 4, 1, 1), "x86-64 with 32-bit addresses"),
        (changed(SMALL, 16, 4), "core dump"),
        (changed(SMALL, 60, 0xFFFF), "it has been cut off"),
        (changed(SMALL, 58, 1), "a section header has 64 bytes, not 1"),
        (b"MZ\x90\x00", "a program of Windows"),
        (b"!<arch>\nwhatever", "take them out with `ar x`"),
        (b"PERFILE2", "a recording of perf"),
    ],
)
def test_what_is_no_program_for_here_is_refused_with_what_it_is(content: bytes, says: str) -> None:
    with pytest.raises(BinaryFileError, match=says):
        read_program(content)


def test_the_first_bytes_tell_what_a_file_is() -> None:
    assert file_kind(SMALL[:64]) == "x86-64 object file"


def test_a_file_that_claims_millions_of_sections_is_refused_at_once() -> None:
    begin = int.from_bytes(SMALL[40:48], "little")
    lying = changed(changed(SMALL, 60, 0), begin + 32, 1 << 40, 8)
    with pytest.raises(BinaryFileError, match=f"sections, of {MAX_SECTIONS:,} at most"):
        read_program(lying)


def test_compressed_code_is_not_unpacked() -> None:
    begin = int.from_bytes(SMALL[40:48], "little") + 64
    with pytest.raises(BinaryFileError, match="the code of the file is compressed"):
        read_program(changed(SMALL, begin + 8, 0x806, 8))


def test_names_of_symbols_are_bounded_and_printable() -> None:
    content = object_file(LOOP + b"\xc3", "x\x1b[31m" + "y" * 10_000)
    (function,) = read_program(content).functions()
    assert len(function.name) == 200
    assert function.name.isprintable()


def test_data_among_code_ends_a_path_only() -> None:
    code = b"\x06\x07" + LOOP + b"\xc3"
    assert [loop.start for loop in loops(object_file(code))] == [2]


@examples(200)
@given(
    changes=st.lists(
        st.tuples(
            st.integers(0, len(SMALL) - 8),
            st.sampled_from([0, 1, 255, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1])
            | st.integers(0, 2**64 - 1),
            st.sampled_from([1, 2, 4, 8]),
        ),
        min_size=1,
        max_size=6,
    ),
    cut=st.none() | st.integers(0, len(SMALL)),
)
def test_a_damaged_file_is_read_or_refused(changes: list[tuple[int, int, int]], cut: int | None) -> None:
    content = SMALL
    for at, value, size in changes:
        content = changed(content, at, value & ((1 << 8 * size) - 1), size)
    with suppress(BinaryFileError):
        loops(content[:cut])


def test_samples_belong_to_the_innermost_loop() -> None:
    outer = (
        bytes.fromhex("4801d8ffc975f9") + bytes.fromhex("ffca") + b"\x75" + struct.pack("b", -11) + b"\xc3"
    )
    (inner,) = loops(object_file(outer))
    assert weighted_loops([inner], {0: 5.0, 3: 2.0, 7: 9.0}) == [(inner, 7.0)]
    assert weighted_loops([inner], {99: 5.0}) == []


SCAN = bytes.fromhex("0104c13c 421000f1 c1ffff54")
"""ldr q1, [x0], #16; subs x2, x2, #4; b.ne to the first one."""


def test_an_aarch64_file_has_its_loops(tmp_path: Path) -> None:
    content = object_file(SCAN + bytes.fromhex("c0035fd6"), "scan", "AArch64")
    program = read_program(content)
    assert (program.isa, program.title) == ("AArch64", "object file (ELF)")
    (loop,) = loops_in(program, program.functions(), Search(), block_reader(program.isa))
    assert (loop.function.name, loop.start, loop.code, loop.instructions) == ("scan", 0, SCAN, 3)


@pytest.mark.skipif(llvm_mc_program() is None, reason="llvm-mc is not installed")
def test_a_jump_of_aarch64_that_the_linker_has_still_to_place_closes_a_loop_of_its_section(
    tmp_path: Path,
) -> None:
    source = tmp_path / "a.s"
    source.write_text(
        ".globl f\n.type f,%function\nf: add x0, x0, x1\n cbnz x0, elsewhere\n b elsewhere\n.size f, .-f\n"
        ".globl g\n.type g,%function\ng: sub x0, x0, #1\n cbnz x0, g\n ret\n.size g, .-g\n"
    )
    made = tmp_path / "a.o"
    command = [str(llvm_mc_program()), "-triple=aarch64", "-filetype=obj", str(source), "-o", str(made)]
    subprocess.run(command, check=True)
    program = read_program(made.read_bytes())
    found = list(loops_in(program, program.functions(), Search(), block_reader(program.isa)))
    assert [(loop.function.name, loop.instructions) for loop in found] == [("g", 2)]

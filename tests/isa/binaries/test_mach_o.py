"""Mach-O files: their functions and loops, stripped or not, and what is refused."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.blocks import BlockError, block_reader
from inference.isa.code.binaries.headers import BinaryFileError
from inference.isa.code.binaries.loops import Search, loops_in
from inference.isa.code.binaries.program import file_kind, is_program, read_program
from tests.drawn import examples

X86, ARM = 0x0100_0007, 0x0100_000C
CODE = bytes.fromhex("4801d8ffc975f9c3") + bytes(8) + bytes.fromhex("ffc975fcc3")
"""Two functions with a loop each: add, dec, jne; dec, jne."""

ADDRESS, START = 0x1_0000_0000, 0x400
NAMES = {"_work": (0, 1), "_$s4mainyyF": (16, 0), "ltmp0": (0, 0)}


def mach_o(
    code: bytes = CODE, cpu: int = X86, kind: int = 2, *, symbols: bool = True, starts: str = ""
) -> bytes:
    """A file with one section; `starts`: hexadecimal digits of the table of functions."""
    names, rows = b"\0", b""
    for name, (at, external) in NAMES.items():
        rows += struct.pack("<IBBHQ", len(names), 0x0E | external, 1, 0, ADDRESS + START + at)
        names += name.encode() + b"\0"
    table = bytes.fromhex(starts)
    symbols_at = START + len(code)
    names_at = symbols_at + len(rows)
    starts_at = names_at + len(names)
    section = struct.pack(
        "<16s16s2Q8I", b"__text", b"__TEXT", ADDRESS + START, len(code), START, 2, 0, 0, 0x8000_0400, 0, 0, 0
    )
    segment = struct.pack(
        "<2I16s4Q4I", 0x19, 152, b"__TEXT", ADDRESS, 0x4000, 0, START + len(code), 5, 5, 1, 0
    )
    commands = [segment + section]
    if symbols:
        commands.append(struct.pack("<6I", 2, 24, symbols_at, len(NAMES), names_at, len(names)))
    if starts:
        commands.append(struct.pack("<4I", 0x26, 16, starts_at, len(table)))
    head = struct.pack("<4s7I", b"\xcf\xfa\xed\xfe", cpu, 3, kind, len(commands), 0, 0, 0)
    return (head + b"".join(commands)).ljust(START, b"\0") + code + rows + names + table


def loops(content: bytes) -> list[tuple[str, int, int]]:
    """(function, address, instructions) of each loop."""
    program = read_program(content)
    found = loops_in(program, program.functions(), Search(), block_reader(program.isa))
    return [(loop.function.name, loop.start - ADDRESS - START, loop.instructions) for loop in found]


@pytest.mark.parametrize("kind", [1, 2, 6, 8])
def test_loops_are_found_under_the_names_of_c_without_their_first_letter(kind: int) -> None:
    assert loops(mach_o(kind=kind)) == [("work", 0, 3), ("$s4mainyyF", 16, 2)]


def test_a_stripped_file_has_the_same_loops_by_its_table_of_functions() -> None:
    stripped = mach_o(symbols=False, starts="800810")
    assert [(at, count) for _, at, count in loops(stripped)] == [(0, 3), (16, 2)]
    assert [function.name for function in read_program(stripped).functions()] == [
        "sub_100000400",
        "sub_100000410",
    ]


def test_a_table_of_functions_that_ends_in_a_number_is_read_as_far_as_it_goes() -> None:
    assert [at for _, at, _ in loops(mach_o(symbols=False, starts="800890"))] == [0, 16]
    assert loops(mach_o(symbols=False, starts="ff" * 200))


def test_a_program_of_apple_silicon_has_its_loops() -> None:
    scan = bytes.fromhex("0104c13c 421000f1 c1ffff54 c0035fd6")  # ldr q1, [x0], #16; subs; b.ne; ret
    assert loops(mach_o(scan, cpu=ARM)) == [("work", 0, 3)]


def test_the_first_bytes_tell_what_a_file_is() -> None:
    assert file_kind(mach_o()[:64]) == "x86-64 executable"
    assert file_kind(mach_o(cpu=ARM, kind=6)[:64]) == "AArch64 shared library"
    assert read_program(mach_o(cpu=ARM)).isa == "AArch64"
    assert read_program(mach_o()).title == "executable (Mach-O)"
    assert is_program(mach_o())
    assert not is_program(b"BM")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (mach_o(cpu=0x0100_0012), "a program of macOS for another computer"),
        (mach_o(kind=4), "no program"),
        (mach_o()[:20], "within its header"),
        (mach_o()[:60], "it has been cut off"),
        (mach_o()[:START], "it has been cut off"),
        (b"\xca\xfe\xba\xbe" + bytes(60), "lipo -thin arm64"),
        (b"\xce\xfa\xed\xfe" + bytes(60), "32-bit program of macOS"),
        (mach_o(code=b""), "no code in it"),
    ],
)
def test_what_is_no_program_for_here_is_refused_with_what_it_is(content: bytes, says: str) -> None:
    with pytest.raises(BinaryFileError, match=says):
        read_program(content)


@examples(200)
@given(st.data())
def test_damaged_files_give_loops_or_a_reason(data: st.DataObject) -> None:
    content = bytearray(mach_o(starts="800810"))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(4, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    with suppress(BinaryFileError, BlockError):
        loops(bytes(content[: data.draw(st.integers(0, len(content)))]))

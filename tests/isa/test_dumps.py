"""Machine code in dumps and arrays: as programs write it, and what is none."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.blocks import BlockError, read
from inference.isa.code.dumps import digits_of_arrays, digits_of_dump
from tests.drawn import examples

CODE = bytes.fromhex("4801d8480fafc3ffc975f5")

PROGRAMS: dict[str, Sequence[str]] = {
    "hexdump": ("hexdump",),
    "hexdump -C": ("hexdump", "-C"),
    "xxd": ("xxd",),
    "xxd -e": ("xxd", "-e"),
    "xxd -g1": ("xxd", "-g1"),
    "xxd -u": ("xxd", "-u", "-c", "8"),
    "xxd -i": ("xxd", "-i", "/dev/stdin"),
    "od bytes": ("od", "-tx1"),
    "od words": ("od", "-tx4"),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("size", [12, 16, 31, 33])
def test_dumps_of_programs_are_read_to_their_bytes(name: str, size: int) -> None:
    if shutil.which(PROGRAMS[name][0]) is None:
        pytest.skip(f"not installed: {PROGRAMS[name][0]}")
    code = (CODE * 3)[:size]
    text = subprocess.run(PROGRAMS[name], input=code, capture_output=True, check=True).stdout.decode()
    digits = digits_of_dump(text.splitlines()) or [row[1] for row in digits_of_arrays(text.splitlines())]
    assert "".join(digits) == code.hex()


@pytest.mark.parametrize(
    "text",
    [
        "static const uint8_t c[] = {\n  0x48, 0x01, 0xd8, // add\n  0x48, 0x0f, /* imul */ 0xaf, 0xc3 };",
        'char code[] = "\\x48\\x01\\xd8"\n  "\\x48\\x0f\\xaf\\xc3";',
        "code = b'H\\x01\\xd8'\ncode += b\"H\\x0f\\xaf\\xc3\"",
        "let code: [u8; 7] = [\n 0x48, 0x01, 0xd8,\n 0x48, 0x0f, 0xaf, 0xc3,\n];",
        "byte[] code = new byte[] { 0x48, 0x01, (byte) 0xd8, 72, 15, -81, -61 };",
        "code := []byte{0x48, 0x01, 0xd8, 0x48, 0x0f, 0xaf, 0xc3}",
        "code = bytes([0x48, 1, 0xd8, 0x48, 0x0f, 0xaf, 0xc3])",
        "{0x48, 0x01, 0xd8, 0x48, 0x0f, 0xaf, 0xc3}",
        "char code[] = {'\\x48', '\\x01', '\\xd8', '\\x48', '\\x0f', '\\xaf', '\\xc3'};",
    ],
)
def test_arrays_are_read_to_their_bytes(text: str) -> None:
    assert "".join(digits for _, digits in digits_of_arrays(text.splitlines())) == CODE[:7].hex()


def test_arrays_are_blocks_of_their_own() -> None:
    reading = read("uint8_t a[] = {0x90};\nuint8_t b[] = {0x48, 0x01, 0xd8};", 9)
    assert [(piece.line, piece.block.hex) for piece in reading.pieces] == [(1, "90"), (2, "4801d8")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("uint32_t a[] = {0x90909090};\nchar b[] = {0x90, 300};", "0x90909090 in the array is no byte"),
        ("00000000  48 01 d8 90\n*\n00000020", "leaves out repeated lines"),
        (
            "0000000 140061 140461 110220\n0000020 024017 107404 007501\n0000040 140061 140461 110220",
            "a dump",
        ),
    ],
)
def test_dumps_that_cannot_be_read_are_refused(text: str, words: str) -> None:
    with pytest.raises(BlockError, match=words):
        read(text, 9)


@pytest.mark.parametrize(
    "text",
    [
        "uint8_t a[] = {0x48, 0x01, 0xd8};\nadd rax, rbx",
        "mov byte ptr [rax], 1",
        "vaddps zmm0, zmm1, [rax]{1to16}",
        "mov eax, [8]",
        ".byte 0x48, 0x01",
    ],
)
def test_assembly_is_no_array(text: str) -> None:
    assert digits_of_dump(text.splitlines()) is None
    assert not digits_of_arrays(text.splitlines())


@examples(60)
@given(st.text(alphabet="0x4Ff{}[](),=:\"'\\ \n/*bchar u8;-", max_size=300))
def test_no_text_makes_it_fail(text: str) -> None:
    lines = text.splitlines()
    try:
        digits = digits_of_dump(lines) or [row[1] for row in digits_of_arrays(lines)]
    except BlockError:
        return
    assert all(len(bytes.fromhex(line)) == len(line) // 2 for line in digits)

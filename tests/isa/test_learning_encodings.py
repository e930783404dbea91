"""Encodings that are learnt from an assembler: here one of four instructions, whose words are known."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Sequence
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.aarch64 import DOCUMENT, decoding
from inference.isa.document import read_instruction_set
from inference.isa.encodings import (
    CODECS,
    ZERO_REGISTER,
    Field,
    WordEncoding,
    codec_of,
    field_of_text,
    text_of_field,
    with_encodings,
    word_of_text,
)
from inference.isa.words.learning import Slot, Template, encoded, learn
from tests.isa.aarch64_program import needs_llvm_mc

NUMBERS: dict[Hashable, str] = {number: f"r{number}" for number in (3, *range(8))}
BYTES: dict[Hashable, str] = {number: f"#{number}" for number in (77, *range(0, 256, 3), 255, 128)}


def assemble(lines: Sequence[str]) -> list[int | None]:
    """`add rA, rB`, `copy rA` with its number twice, `load rA, #n` of a split number, `odd #n` of any."""
    return [word_of(line) for line in lines]


def word_of(line: str) -> int | None:
    mnemonic, _, operands = line.partition(" ")
    numbers = [int(number) for number in re.findall(r"\d+", operands)]
    if mnemonic == "add":
        first, second = numbers
        return 0x80000000 | first | second << 8 if first != second else None
    if mnemonic == "copy":
        return 0x90000000 | numbers[0] | numbers[0] << 16
    if mnemonic == "load":
        number, value = numbers
        return 0xA0000000 | number | (value & 7) << 5 | (value >> 3) << 20 if value < 248 else None
    return 0xB0000000 | hash(numbers[0] ** 3) & 0xFFFF


def template(line: str, *slots: Slot) -> Template:
    return Template(line, slots)


REGISTER = Slot("1", NUMBERS, ["unsigned 3"])
TEMPLATES = {
    "add": template("add {0}, {1}", REGISTER, Slot("2", {5: "r5", **NUMBERS}, ["unsigned 3"])),
    "copy": template("copy {0}", REGISTER),
    "load": template("load {0}, {1}", REGISTER, Slot("2", BYTES, ["unsigned 4", "signed 8", "unsigned 8"])),
}


def test_fields_are_where_bits_move_with_operands():
    learnt = learn(TEMPLATES, assemble, CODECS)
    assert not learnt.failures
    assert learnt.encodings["add"] == WordEncoding(
        0x80000000,
        0xFFFFF8F8,
        (Field("1", "unsigned 3", ((0, 3),)), Field("2", "unsigned 3", ((8, 3),))),
    )
    assert [field.pieces for field in learnt.encodings["copy"].fields] == [((0, 3),), ((16, 3),)]
    assert learnt.encodings["load"].fields[1] == Field("2", "unsigned 8", ((5, 3), (20, 5)))
    assert learnt.checked > 50


def test_what_no_codec_explains_is_named():
    templates = {"odd": template("odd {0}", Slot("1", BYTES, ["unsigned 8", "signed 8"]))}
    learnt = learn(templates, assemble, CODECS)
    assert learnt.failures == {"odd": "no codec explains operand 1"}
    assert not learnt.encodings


def test_an_optional_slot_without_a_codec_is_part_of_the_form():
    templates = {"odd": template("odd {0}", Slot("1", BYTES, ["unsigned 8"], optional=True))}
    assert learn(templates, assemble, CODECS).encodings["odd"].mask == 0xFFFFFFFF


def test_a_refused_instruction_is_named():
    refused = {"load": template("load {0}, {1}", REGISTER, Slot("2", {255: "#255", **BYTES}, ["unsigned 8"]))}
    assert "the assembler refuses 'load r3, #255'" in learn(refused, assemble, CODECS).failures["load"]


def test_operands_that_share_bits_are_no_encoding():
    templates = {"copy": template("copy {0}{1}", REGISTER, Slot("2", {3: ""}, []))}
    assert learn(templates, assemble, CODECS).failures == {"copy": "no codec explains operand 2"}


def test_values_without_a_field_have_no_word():
    encoding = learn(TEMPLATES, assemble, CODECS).encodings["load"]
    assert encoded(encoding, {"1": 2, "2": 100}, CODECS) == word_of("load r2, #100")
    assert encoded(encoding, {"1": 8, "2": 100}, CODECS) is None


@pytest.mark.parametrize(
    "name",
    [
        "unsigned 12 8",
        "unsigned 3 1 0 4",
        "signed 9",
        "signed 7 16",
        "difference 5 32",
        "zero 5",
        "pointer 5",
    ],
)
def test_codecs_are_inverse(name: str):
    codec = codec_of(name)
    for field in range(1 << codec.bits):
        value = codec.decode(field)
        assert value is None or codec.encode(value) == field
    assert codec.encode(10**9) is None
    assert codec.encode("other") is None


@given(
    st.sampled_from(["mask 64", "mask 32", "floating", "bytes", "condition", "condition 1", "left 64"]),
    st.data(),
)
def test_codecs_of_aarch64_are_inverse(name: str, data: st.DataObject):
    codec = codec_of(name, decoding.A64_CODECS)
    field = data.draw(st.integers(0, (1 << codec.bits) - 1))
    value = codec.decode(field)
    if value is not None:
        again = codec.encode(value)
        assert again is not None
        assert codec.decode(again) == value


@given(st.sampled_from(["extraction", "insertion"]), st.integers(0, 63), st.integers(0, 63))
def test_bit_fields_lie_within_their_register(name: str, rotation: int, last: int):
    codec = codec_of(f"{name} 64", decoding.A64_CODECS)
    pair = codec.decode(rotation << 6 | last)
    if pair is not None:
        assert pair[0] + pair[1] <= 64
        assert codec.encode(pair) == rotation << 6 | last


def test_registers_without_a_number_have_the_last_field():
    assert codec_of("zero 5").encode(ZERO_REGISTER) == codec_of("pointer 5").encode(31) == 31
    assert codec_of("zero 5").encode(31) is None
    with pytest.raises(ValueError, match=r"there is no codec 'frob 3'; there are unsigned"):
        codec_of("frob 3")


@pytest.mark.parametrize(
    "text", ["2 offset: signed 7 8 @ 15:7", "1: zero 5 @ 0:5", "3,4: insertion 64 @ 10:6 16:6"]
)
def test_fields_are_written_and_read(text: str):
    assert text_of_field(field_of_text(text)) == text


@pytest.mark.parametrize(
    "text", ["", "1: zero 5 @", "1 zero 5 @ 0:5", "1: zero 5 @ 30:5", "1: zero 5 @ 0:0", "x: u 5 @ 0:5"]
)
def test_other_texts_are_no_fields(text: str):
    with pytest.raises(ValueError, match=r"a field is written|a piece is"):
        field_of_text(text)


def test_a_word_has_eight_digits():
    assert word_of_text("8b000000") == 0x8B000000
    with pytest.raises(ValueError, match="eight hexadecimal digits"):
        word_of_text("8B00")


def test_a_document_is_written_as_it_was():
    content = DOCUMENT.read_bytes()
    assert with_encodings(content, read_instruction_set(content).encodings) == content
    assert "match" not in json.loads(with_encodings(content, {}))["schemes"][0]


@needs_llvm_mc
def test_the_command_writes_the_document(tmp_path: Path):
    said = StringIO()
    call_command("learn-encodings", output=str(tmp_path / "learnt.json"), stdout=said)
    assert (tmp_path / "learnt.json").read_bytes() == DOCUMENT.read_bytes()
    assert re.search(r"AArch64: 3,\d\d\d encodings learnt.*\n0 differ from the document", said.getvalue())
    with pytest.raises(CommandError, match="No such file"):
        call_command("learn-encodings", output=str(tmp_path / "none" / "x.json"), stdout=said)

"""No text makes the reader open a file, start a program or write bytes without end."""

from __future__ import annotations

import pytest

from inference.isa.blocks import BlockError, read, read_blocks
from tests.directives import SPELLINGS, watching, written


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_directive_is_refused_however_it_is_hidden(spelling, tmp_path):
    with watching(tmp_path) as watch:
        text = written(spelling, watch.file)
        for reading in (lambda: read(text, 10), lambda: read_blocks(text, 10)):
            with pytest.raises(BlockError) as caught:
                reading()
            watch.expect_silence(str(caught.value))
            assert caught.value.message
            assert 0 <= caught.value.line <= len(text.splitlines())  # 0: there is nothing but data


@pytest.mark.parametrize("before", ["addq %rax, %rbx", "add rax, rbx", "4801d8", "nop # x"])
@pytest.mark.parametrize("spelling", ['/**/.incbin"{file}",0,8', '0:.incbin"{file}"', '/**/.include"{file}"'])
def test_code_before_it_does_not_help(spelling, before, tmp_path):
    with watching(tmp_path) as watch:
        for between in ("\n", "\r\n", "\n\n"):
            with pytest.raises(BlockError) as caught:
                read_blocks(before + between + written(spelling, watch.file), 10)
            watch.expect_silence(str(caught.value))


@pytest.mark.parametrize(
    "line",
    [
        '.incbin "x"',
        '.include "x"',
        ".rept 3",
        ".irp x,1,2",
        ".irpc x,12",
        ".macro m",
        ".if 1",
        ".ifdef x",
        ".zero 16",
        ".skip 16",
        ".space 16",
        ".fill 3,1,0",
        ".org 16",
        ".byte x",
        ".word 5",
        ".short 5",
        ".value 5",
        ".long 5",
        ".quad 5",
        ".octa 5",
        ".2byte 5",
        ".4byte 5",
        ".8byte 5",
        '.ascii "x"',
        '.asciz "x"',
        '.string "x"',
        ".float 1",
        ".double 1",
        ".uleb128 5",
        ".sleb128 5",
        ".nops 8",
        ".code32",
    ],
)
def test_what_emits_repeats_or_guards_code_is_refused_by_its_name_and_place(line):
    for text in (f"nop\n{line}\nnop", f"nop\nf: {line}\nnop", f"nop\n/* */ {line.upper()}\nnop"):
        with pytest.raises(BlockError) as caught:
            read(text, 10)
        assert caught.value.line == 2
        assert line.split()[0] in caught.value.message.lower()


@pytest.mark.parametrize("spelling", ['/**/.incbin"{file}",0,8', '0:.incbin"{file}"', '/**/.include"{file}"'])
def test_a_line_of_a_listing_that_is_none_is_counted_and_no_more(spelling, tmp_path):
    with watching(tmp_path) as watch:
        reading = read("  401000:\t90\tnop\n" + written(spelling, watch.file), 10)
        assert [piece.block.hex for piece in reading.pieces] == ["90"]
        assert reading.skipped == 1
        assert reading.notes
        watch.expect_silence(str(reading))


def test_the_bytes_of_a_listing_count_whatever_stands_beside_them(tmp_path):
    with watching(tmp_path) as watch:
        text = written('  401000:\t48 01 d8 \t.incbin "{file}"', watch.file)
        assert [piece.block.hex for piece in read(text, 10).pieces] == ["4801d8"]
        watch.expect_silence()


def test_comments_may_say_what_they_like(tmp_path):
    with watching(tmp_path) as watch:
        text = written(
            'nop # .incbin "{file}"\nnop // .include "{file}"\n/* .incbin "{file}" */ nop\n', watch.file
        )
        (piece,) = read(text, 10).pieces
        assert piece.block.hex == "909090"
        watch.expect_silence()

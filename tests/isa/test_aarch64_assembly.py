"""Assembly of AArch64 as people paste it: spellings, labels, directives, comments, data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.isa.aarch64.assembly import SYNTAX
from inference.isa.aarch64.block_reader import READER
from inference.isa.aarch64.blocks import AArch64Instruction
from inference.isa.aarch64.printing import text_of
from inference.isa.aarch64.statements import read_instruction
from inference.isa.code.block import MAX_BYTES, Block, BlockError
from inference.isa.code.pieces import AssemblyProgram, pieces_of
from inference.isa.words.assembly import program_of_lines


def program(text: str) -> AssemblyProgram:
    return program_of_lines(text.splitlines(), 1, SYNTAX)


def only_block(text: str) -> Block:
    (piece,) = pieces_of(program(text), READER)
    return piece.block


def digits(text: str) -> str:
    word = read_instruction(text).word()
    assert word is not None
    return f"{word:08x}"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        # numbers without a sign, in capitals, with the other names of registers
        ("ADD X0, X1, 8", "91002020"),
        ("add x0, x1, #0x8", "91002020"),
        ("mov fp, sp", "910003fd"),
        ("ret lr", "d65f03c0"),
        ("ldr x0, [x1, 8]", "f9400420"),
        ("ldr x0,[x1,x2,lsl 3]", "f8627820"),
        # other spellings of an instruction
        ("cmp x0, #-1", "b100041f"),
        ("add x0, x1, #-8", "d1002020"),
        ("add x0, x1, #4096", "91400420"),
        ("ldr x0, [x1, #-8]", "f85f8020"),
        ("ldrh w0, [x1, #1]", "78401020"),
        ("mov x0, #-1", "92800000"),
        ("mov x0, #0x10000", "d2a00020"),
        ("mov w0, #0xff00ff", "32009fe0"),
        ("mov x0, #1", "d2800020"),
        ("orr x0, xzr, #1", "b24003e0"),
        ("mov v0.s[1], w2", "4e0c1c40"),
        ("mov w0, v1.s[1]", "0e0c3c20"),
        ("mov s0, v1.s[1]", "5e0c0420"),
        ("neg x0, x1, lsl #3", "cb010fe0"),
        ("tst w0, w1, lsr #3", "6a410c1f"),
        ("sub sp, sp, x13", "cb2d63ff"),
        ("add x0, sp, x1, lsl #2", "8b216be0"),
        ("tbz w0, #3, #8", "36180040"),
        ("bne #-8", "54ffffc1"),
        ("b.cs #-8", "54ffffc2"),
        ("sxtl v0.8h, v1.8b", "0f08a420"),
        ("fcmp d0, #0", "1e602008"),
        ("fmov d0, 1.0e+0", "1e6e1000"),
        ("ld1 {v0.4s-v3.4s}, [x0]", "4c402800"),
        ("st1 { v0.d }[1], [x0], x4", "4d848400"),
        ("dmb ish", "d5033bbf"),
        ("mrs x0, TPIDR_EL0", "d53bd040"),
        ("mrs x0, S3_3_C13_C0_2", "d53bd040"),
        ("prfm pldl1keep, [x0, #64]", "f9802000"),
        # Apple's
        ("fmla.4s v0, v1, v2", "4e22cc20"),
        ("fmla.4s v0, v1, v2[3]", "4fa21820"),
        ("mov.16b v0, v1", "4ea11c20"),
        ("sshll.8h v0, v1, #3", "0f0ba420"),
        ("addv.16b b0, v1", "4e31b820"),
        ("ld1.4s { v0, v1 }, [x0], #32", "4cdfa800"),
        ("umov.s w0, v1[1]", "0e0c3c20"),
        # names that a linker resolves
        ("adrp x0, table", "90000000"),
        ("add x0, x0, :lo12:table", "91000000"),
        ("ldr q0, [x1, #:lo12:table+16]", "3dc00020"),
        ("ldr x0, [x0, _table@PAGEOFF]", "f9400000"),
        ("ldr x0, =table", "58000000"),
    ],
)
def test_spellings_are_the_words_that_assemblers_make(text: str, word: str):
    assert digits(text) == word


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frob x0, x1", "AArch64 has no instruction 'frob' here"),
        ("add x0, x1", "no add here has the operands"),
        ("add x0, w1, x2", "no add here has the operands"),
        ("ldr x0, [x1, #8", "do not match"),
        ("ldr x0, [x1, , #8]", "is missing"),
        ("ldr x0, [w1]", "no ldr here has the operands"),
        ("str x0, [x1, #40000]", "no str here has the operands"),
        ("add z0.s, z1.s, z2.s", "is a register of SVE or SME, which is not supported"),
        ("ld1 {v0.4s, v2.4s}, [x0]", "do not follow each other"),
        ("dmb ishl", "no dmb here has the operands"),
        ("fmla.4s v0.2s, v1, v2", "no fmla here has the operands"),
        ("add x0, x1, #" + "1" * 400, "at most 300 characters"),
        ("mov x0, 'a", "is no operand of AArch64"),
        ("!", "is no instruction of AArch64"),
    ],
)
def test_wrong_statements_are_errors(text: str, message: str):
    with pytest.raises(BlockError, match=message):
        read_instruction(text)


def test_a_compilers_loop_is_found_with_its_labels_and_notes():
    read = program(
        """\
\t.arch\tarmv8-a
\t.text
\t.type\tf, %function
f:
.LFB0:
\t.cfi_startproc
\tcbz\tw1, .L4
\tadrp\tx3, .LC0
\tldr\tq1, [x3, #:lo12:.LC0]  // the constant
.L3:
\tldr\td1, [x2], 8
\tfmadd\td0, d1, d1, d0
\tcmp\tx2, x1
\tbne\t.L3
\tret
.L4:
\tmovi\td0, #0
\tret
\t.size\tf, .-f
"""
    )
    pieces = pieces_of(read, READER)
    assert [(piece.name, piece.block.kind) for piece in pieces] == [
        ("f, line 8", "straight"),
        (".L3", "loop"),
        (".L4", "straight"),
    ]
    assert pieces[0].notes == (".LC0 is assumed to be 0",)
    assert pieces[1].block.text.splitlines() == [
        ".loop:",
        "ldr d1, [x2], #8",
        "fmadd d0, d1, d1, d0",
        "cmp x2, x1",
        "b.ne .loop",
    ]


def test_demangled_names_are_labels_and_data_is_no_target():
    read = program("sum(double*, int):\n  cbz w1, .L4\n.L3:\n  ldr d1, [x0], 8\n  bne .L3\n.L4:\n  ret\n")
    assert [piece.name for piece in pieces_of(read, READER)] == [".L3"]
    assert read.instructions[0].labels == ("sum(double*, int)",)
    with pytest.raises(BlockError, match="b table leads to the data in line 3"):
        program("b table\ntable:\n.word 1, 2\n")


def test_comments_of_all_assemblers_are_no_code():
    text = """\
# a line of GNU's
_f:                            ; @f
    add x0, x0, #1             // #8 is a number
    sub x1, x1, #8 ; armasm's, Apple's
    eor x2, x2, x3 # behind a blank
    /* and
    these */ nop
"""
    read = program(text)
    assert only_block(text).text.splitlines() == [
        "add x0, x0, #1",
        "sub x1, x1, #8",
        "eor x2, x2, x3",
        "nop",
    ]
    assert read.remarks == (2, 4)


def test_a_semicolon_separates_statements_of_gnu():
    assert only_block("add x0, x0, #1; sub x1, x1, x0").text == "add x0, x0, #1\nsub x1, x1, x0"


def test_capitals_labels_and_directives_of_armasm():
    text = """\
  AREA |.text|, CODE
main PROC
again LDR X0, [X1], #8
  SUBS X2, X2, #1
  B.NE again
  ENDP
  END
"""
    assert only_block(text).text.splitlines() == [
        ".loop:",
        "ldr x0, [x1], #8",
        "subs x2, x2, #1",
        "b.ne .loop",
    ]


def test_local_labels_dots_and_offsets_lead_where_they_say():
    steps = [
        step.step
        for step in program("1: nop\n1: nop\nb.eq 1b\nb.ne 1f\n1: b .\nb .-8\nb 1b+4\nb away").instructions
    ]
    assert [step.target for step in steps] == [None, None, 4, 16, 16, 12, 20, None]


def test_regions_are_marked_by_comments_or_osacas_instructions():
    comments = "nop\n// OSACA-BEGIN\nadd x0, x0, #1\n// OSACA-END\nnop"
    words = "nop\nmov x1, #111\n.byte 213,3,32,31\nadd x0, x0, #1\nmov x1, #222\n.byte 213,3,32,31\nnop"
    assert only_block(comments).text == only_block(words).text == "add x0, x0, #1"


def test_words_are_code_and_unreachable_data_is_none():
    assert only_block("nop\n.inst 0x8b020020, 0x8b020021\n.word 0xd503201f").terms[0][1] == 2
    read = program("ret\ntable:\n.word 1, 2\nf:\nnop")
    assert [line.line for line in read.dropped] == [3]
    with pytest.raises(BlockError, match=r"line 2.*puts bytes into the code"):
        program("nop\n.hword 1\nnop")
    with pytest.raises(BlockError, match=r"line 2.*no instructions.*ffffffff"):
        program("nop\n.inst 0xffffffff")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\nnop\na:\nnop", "line 3.*the label a stands in line 1 already"),
        ("nop\n.rept 4\nnop\n.endr", "line 2.*repeats, includes or guards"),
        ("nop\n.frob 1", "line 2.*unknown directive"),
        (".data\nadd x0, x0, x1", "line 2.*section of data"),
        ("f: nop\n" + "nop\n" * 9000 + "tbz x0, #1, f", "cannot reach so far"),
        ("// OSACA-BEGIN\nnop", "line 1"),
        ("nop\n" + ".a:" * 1000, "line 2.*unknown directive"),
        ("\n".join(f"mov x{n % 30}, #{n}" for n in range(10_001)), "at most 10,000 different"),
    ],
)
def test_wrong_programs_are_errors_with_their_place(text: str, message: str):
    with pytest.raises(BlockError, match=message):
        program(text)


def test_constants_stand_for_their_numbers():
    assert only_block(".equ SIZE, 24\nSTEP = 8\nldr x0, [x1, #SIZE]\nadd x1, x1, STEP").text.splitlines() == [
        "ldr x0, [x1, #24]",
        "add x1, x1, #8",
    ]


LOOP = bytes.fromhex("200440f9410400f11f0001eb21f0ffff".replace("21f0ffff", "a1ffff54"))


def test_a_block_closes_where_its_jump_leads_to_its_start():
    block = READER.block_of_bytes(LOOP)
    assert (block.kind, len(block.instructions), block.closing_text) == ("loop", 3, "b.ne .loop")
    assert READER.body_of(LOOP) == block.body == LOOP[:-4]
    assert READER.close_loop(block.body + block.body, LOOP[-4:])[-4:] != LOOP[-4:]
    assert READER.block_of_bytes(LOOP[4:]).kind == "straight"
    assert block.instructions[0].registers == {"x0", "x1"}


def test_loops_around_blocks_leave_registers_and_flags():
    looped = READER.block_of_bytes(READER.as_loop(LOOP[:-4]))
    assert looped.text.splitlines()[-2:] == ["sub x17, x17, #1", "cbnz x17, .loop"]
    assert READER.as_loop(LOOP) == LOOP
    every = b"".join(int(digits(f"add x{n}, x{n}, #1"), 16).to_bytes(4, "little") for n in range(31))
    assert "x18" not in READER.block_of_bytes(every[:72]).unused_registers
    with pytest.raises(BlockError, match="a loop needs a counter"):
        READER.as_loop(every)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (b"\x1f\x20\x03", "four bytes each"),
        (bytes.fromhex("1f2003d5ffffffff"), r"the word at byte 5 \(ffffffff\)"),
        (bytes.fromhex("0000e004"), "is an instruction of SVE"),
        (b"", "1 to 4,096 bytes"),
        (bytes(MAX_BYTES + 4), "1 to 4,096 bytes"),
        (bytes.fromhex("1f2003d5") * 501, "at most 500 instructions"),
    ],
)
def test_bytes_that_are_no_block_are_errors(code: bytes, message: str):
    with pytest.raises(BlockError, match=message):
        READER.block_of_bytes(code)


@given(st.text(max_size=60))
def test_any_text_is_a_program_or_an_error(text: str):
    try:
        program(text)
    except BlockError:
        return


@given(st.text("addsubldrxwv0123456789.[]{}#,!: lsluxtw-@", max_size=40))
def test_any_statement_is_an_instruction_or_an_error(text: str):
    try:
        word = read_instruction(text).word()
    except BlockError:
        return
    assert word is not None
    assert text_of(AArch64Instruction(word.to_bytes(4, "little")).decoded)

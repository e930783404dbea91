"""Basic blocks: text and bytes to instructions and schemes, and what is said of what is none."""

from __future__ import annotations

import csv
import re

import pytest
from django.conf import settings
from iced_x86 import Decoder, Encoder, FlowControl, Formatter, FormatterSyntax

from inference.isa.blocks import (
    BlockError,
    block_of_bytes,
    block_of_hex,
    block_of_text,
    general_registers,
    read_blocks,
)
from inference.isa.x86 import forms_by_text
from inference.isa.x86.assembly.reading import read_program
from inference.isa.x86.blocks.listing import text_of
from inference.isa.x86.blocks.scheme_lookup import scheme_of
from inference.isa.x86.forms import Form
from inference.isa.x86.instances import ADDRESS_OF_CODE, instance

STEP = 9
"""Every so many mnemonics are tried: all of them take five seconds."""


def formatter() -> Formatter:
    """Intel syntax as iced has it by itself, but addresses relative to rip."""
    found = Formatter(FormatterSyntax.INTEL)
    found.rip_relative_addresses = True
    return found


def sample() -> list[tuple[str, Form]]:
    """The schemes of some mnemonics, by their texts."""
    known = forms_by_text()
    chosen = set(sorted({form.mnemonic for form in known.values()})[::STEP])
    return [(text, form) for text, form in known.items() if form.mnemonic in chosen]


def code_of(form) -> bytes:
    encoder = Encoder(64)
    encoder.encode(instance(form), ADDRESS_OF_CODE)
    return encoder.take_buffer()


def decoded(code: bytes):
    return Decoder(64, code, ip=ADDRESS_OF_CODE).decode()


def test_every_scheme_is_recognised_in_its_instances():
    for text, form in sample():
        if form.narrows is None:
            assert scheme_of(decoded(code_of(form))) == text


@pytest.mark.parametrize("syntax", ["intel", "att"])
def test_what_we_write_is_read_as_the_same_code(syntax: str):
    for _, form in sample():
        code = code_of(form)
        if decoded(code).flow_control == FlowControl.NEXT:
            written = text_of(code, syntax)
            assert [one.code for one in read_program(written).instructions] == [code], written


def test_few_instructions_have_to_be_written_as_numbers():
    forms = [form for _, form in sample() if decoded(code_of(form)).flow_control == FlowControl.NEXT]
    as_numbers = [
        one for one in (text_of(code_of(form), "intel") for form in forms) if one.startswith(".byte")
    ]
    assert len(as_numbers) <= 0.01 * len(forms), as_numbers


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("add rax, rbx", "4801d8"),
        ("ADD RAX , RBX  # a comment", "4801d8"),
        ("add rax, 1", "4883c001"),
        ("add rax, -1", "4883c0ff"),
        ("add rax, 0xffffffffffffffff", "4883c0ff"),
        ("mov rax, 0x1122334455667788", "48b88877665544332211"),
        ("mov eax, 0ffh", "b8ff000000"),
        ("mov qword ptr [rsp], 5", "48c7042405000000"),
        ("mov rax, [rdi + 8*rcx - 0x10]", "488b44cff0"),
        ("mov rax, [rcx+rsp]", "488b040c"),
        ("mov rax, [rip+0x2000]", "488b0500200000"),
        ("mov rax, [0x1234]", "488b042534120000"),
        ("lea rax, [rbp]", "488d4500"),
        ("movzx eax, byte ptr [rsi]", "0fb606"),
        ("movsx rax, dword ptr [rsi]", "486306"),
        ("cmovnz eax, ebx", "0f45c3"),
        ("setnae al", "0f92c0"),
        ("shl eax, cl", "d3e0"),
        ("sal eax, 1", "d1e0"),
        ("vcmpltps xmm1, xmm2, xmm3", "c5e8c2cb01"),
        ("pclmullqhqdq xmm1, xmm2", "660f3a44ca10"),
        ("vaddps ymm1, ymm2, [rax]", "c5ec5808"),
        ("vaddps zmm1{k1}{z}, zmm2, [rax]{1to16}", "62f16cd95808"),
        ("vaddps zmm1, zmm2, zmm3, {rz-sae}", "62f16c7858cb"),
        ("vaddps xmm1, xmm17, xmm3", "62f1740058cb"),
        ("lock add dword ptr [rax], ecx", "f00108"),
        ("rep stosq", "f348ab"),
        ("imul eax, 300", "69c02c010000"),
        ("fadd st, st(1)", "d8c1"),
        ("fld qword ptr [rax]", "dd00"),
    ],
)
def test_text_becomes_the_shortest_code(text: str, code: str):
    assert block_of_text(text).hex == code


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nop\nfoo rax", r"line 2, column 1: x86-64 has no instruction 'foo'"),
        ("addd rax, 1", "is it .*paddd"),
        ("add rax, xmm0", r"forms of it are: add GPR"),
        ("add [rax], 1", "8, 16, 32, 64 bits: write 'byte ptr'"),
        ("mov rax, label", "'label' is no register and no number"),
        ("mov rax, [rbx+rcx+rdx]", "too many registers"),
        ("mov rax, [rbx*3]", "a scale is 1, 2, 4 or 8, not '3'"),
        ("mov rax, [rax", "memory is written like"),
        ("mov rax, 1ffffffffffffffffh", "does not fit into 64 bits"),
        ("mov ah, r8b", "does not take these operands"),
        ("add rax,", "missing beside a comma"),
        ("vaddps zmm1{k9}, zmm2, zmm3", "no decoration {k9}"),
        ("%rax", "begins with its mnemonic"),
        ("call again\nret", "no instruction but jumps, calls and returns"),
        ("nop\nmov rax, [\0]", "line 2, column 1: 'mov rax, .* contains control characters"),
        ("nop" + " " * 10**6 + "x", "line 1, column 1: an instruction has at most 500 characters"),
        ("nop\n" * 600, "line 1: a basic block has at most 500 instructions, not 600"),
        ("nop\n" * 10**5, "a text has at most 50,000 instructions"),
        ("", "there is no block"),
    ],
)
def test_errors_say_where_and_what_would_be_right(text: str, said: str):
    with pytest.raises(BlockError, match=said):
        block_of_text(text)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("4801", "from number 1 on"),
        ("480", "two hexadecimal digits per byte"),
        ("4g", "'g' is none"),
        ("90" * 5000, "1 to 4,096 bytes, not 5,000"),
        ("90" * 600, "at most 500 instructions"),
        ("", "not 0"),
    ],
)
def test_bytes_that_are_no_block_are_refused(code: str, said: str):
    with pytest.raises(BlockError, match=said):
        block_of_hex(code)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("75fe", "changes the control flow"),
        ("c3", "changes the control flow"),
        ("0f05", "changes the control flow|operating system"),
        ("cc", "interrupts"),
        ("0f0b", "raises an exception"),
        ("f4", "kernel"),
        ("ec", "kernel"),
        ("64488b042528000000", "data of the thread"),
        ("f3480faed0", "thread-local"),
        ("8ee0", "loads a segment register"),
    ],
)
def test_what_no_block_may_have_is_named(code: str, reason: str):
    block = block_of_hex("90" + code)
    assert block.obstacle().startswith("instruction 2, ")
    assert re.search(reason, block.obstacle())


def test_a_block_knows_its_schemes_and_the_registers_it_leaves_alone():
    block = block_of_text("add rax, r15\nadd r14, rbx\nmul ecx\nadd eax, 1")
    assert block.terms == (
        ("add GPR[32]:RW, IMM[8]:R", 1),
        ("add GPR[64]:RW, GPR[64]:R", 2),
        ("mul GPR[32]:R", 1),
    )
    assert block.unused_register == "r13"
    assert block.unknown == ()
    assert block_of_text(block.text) == block
    assert block_of_text("\n".join(f"inc {name}" for name in general_registers())).unused_register == ""


def test_several_blocks_come_as_paragraphs_or_as_lines_of_a_file():
    pasted = read_blocks("4801d8\n\nadd rax, rbx\nnop ; two\n\n\n48 01 d8", 10)
    assert [len(block.instructions) for block in pasted] == [1, 2, 1]
    filed = read_blocks("bb,tool\n4801d8,1.5\n90,2\n", 10)
    assert [block.hex for block in filed] == ["4801d8", "90"]
    assert [block.hex for block in read_blocks("4801d8,0.5\n90,1", 10)] == ["4801d8", "90"]
    with pytest.raises(BlockError, match="line 4, column 1: x86-64 has no instruction"):
        read_blocks("nop\n\nnop\nnope", 10)
    with pytest.raises(BlockError, match="at most 2 blocks"):
        read_blocks("90\n\n90\n\n90", 2)
    with pytest.raises(BlockError, match="there is no block"):
        read_blocks(" \n ", 2)


@pytest.mark.shared
def test_published_blocks_are_of_known_schemes_and_can_be_written_and_read():
    source = settings.SHARED / "data" / "blocks" / "sqlite.csv"
    if not source.exists():
        pytest.skip(f"{source} is not there")
    with source.open(newline="") as file:
        codes = [bytes.fromhex(row[0]) for row in csv.reader(file)][::20]
    blocks = [block_of_bytes(code) for code in codes]
    assert not [block.unknown for block in blocks if block.unknown]
    read = [block for block in blocks if not block.obstacle()]
    again = [block_of_text(block.text) for block in read]
    assert again == read

"""AArch64 from words to schemes and back: the tables against llvm-mc, and against themselves."""

from __future__ import annotations

import re
import struct
import subprocess
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.isa import llvm_mc
from inference.isa.aarch64 import instruction_set
from inference.isa.aarch64.blocks import BLOCKS
from inference.isa.aarch64.decoding import decode, table
from inference.isa.aarch64.learning import learn_document, templates
from inference.isa.aarch64.printing import SYNTAXES, text_of
from inference.isa.aarch64.statements import read_instruction
from inference.isa.code.block import BlockError
from inference.isa.words.accesses import InMemory, NamedImmediate, RegisterPart
from tests.isa.aarch64_program import needs_llvm_mc

SCHEMES = instruction_set().schemes
FORMS = table().forms
FEATURES = "+v8.5a,+crypto,+sha3,+sm4,+fullfp16,+fp16fml,+dotprod,+lse,+rdm,+rcpc,+i8mm,+bf16,+mte"


def drawn_word(number: int, dice: Random) -> int:
    """A word with the fixed bits of a form, and any other bits."""
    encoding = FORMS[number].encoding
    return encoding.match | (dice.getrandbits(32) & ~encoding.mask & 0xFFFFFFFF)


words_of_forms = st.builds(drawn_word, st.integers(0, len(FORMS) - 1), st.randoms(use_true_random=False))


@needs_llvm_mc
def test_instances_of_all_schemes_decode_to_their_scheme_and_read_back():
    lines = {
        text: template.text(template.base)
        for text, template in templates(SCHEMES, instruction_set().forms).items()
    }
    done = llvm_mc.assemble(list(lines.values()), "aarch64", "generic", FEATURES)
    assert not done.refused
    words = struct.unpack(f"<{len(lines)}I", done.code)
    for text, word in zip(lines, words, strict=True):
        decoded = decode(word)
        assert (decoded.scheme, decoded.reason) == (text, "")
        assert table().by_text[text].word(decoded.operands) == word
        for syntax in SYNTAXES:
            assert read_instruction(text_of(decoded, syntax)).word() == word, text


@needs_llvm_mc
def test_llvm_mc_encodes_all_forms_as_the_document_says():
    learnt = learn_document()
    assert (learnt.failures, list(learnt.changes)) == ({}, [])
    assert learnt.forms == len(FORMS)
    assert learnt.checked > 70_000


@needs_llvm_mc
def test_no_word_is_another_instruction_than_for_llvm_mc():
    dice = Random(5)
    words = [drawn_word(dice.randrange(len(FORMS)), dice) for _ in range(6000)]
    words += [dice.getrandbits(32) for _ in range(6000)]
    for word, text in zip(words, texts_of_llvm_mc(words), strict=True):
        decoded = decode(word)
        if decoded.form is None:
            continue
        assert text is not None, hex(word)
        own = text_of(decoded)
        if decoded.mnemonic in {"hint", "dsb"}:  # some of their numbers have names
            continue
        assert own.split()[0] == text.split()[0], (hex(word), own, text)
        assert registers_of(own) == registers_of(text), (hex(word), own, text)


def texts_of_llvm_mc(words: list[int]) -> list[str | None]:
    """What llvm-mc makes of each word; None where it refuses it."""
    lines = [f"[{','.join(f'{byte:#04x}' for byte in struct.pack('<I', word))}]" for word in words]
    done = subprocess.run(
        [str(llvm_mc.program()), "-triple=aarch64", f"-mattr={FEATURES}", "-disassemble"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    refused = {
        int(number) - 1
        for number in re.findall(r"^<stdin>:(\d+):\d+: warning: invalid", done.stderr, re.MULTILINE)
    }
    texts = iter(
        line.strip() for line in done.stdout.splitlines() if line.startswith("\t") and ".text" not in line
    )
    return [None if number in refused else next(texts) for number in range(len(words))]


def registers_of(text: str) -> list[str]:
    return re.findall(r"\b(?:[xwvbhsdq]\d+|w?sp|[xw]zr)\b", text.partition("//")[0])


@given(words_of_forms)
def test_what_is_printed_reads_back(word: int):
    assert decode(word).form is None or read_back(BLOCKS.line_of(word)) == word


def read_back(line: str) -> int | None:
    text = line.partition(" //")[0]
    return int(text.split()[1], 16) if text.startswith(".inst") else read_instruction(text).word()


@given(words_of_forms)
def test_operands_encode_to_a_word_of_the_same_meaning(word: int):
    decoded = decode(word)
    if decoded.form is None:
        return
    encoded = table().by_text[decoded.form.text].word(decoded.operands)
    assert encoded is not None
    again = decode(encoded)
    assert (again.form, again.operands) == (decoded.form, decoded.operands)


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1))
def test_any_word_has_a_scheme_or_a_reason(word: int):
    decoded = decode(word)
    assert bool(decoded.scheme) != bool(decoded.reason)
    assert (decoded.form is None) == (decoded.mnemonic == "")
    assert decoded.form is None or len(decoded.operands) == sum(
        not operand.implicit for operand in decoded.form.operands
    )


def test_no_two_forms_have_the_same_bits():
    keys = {(form.encoding.match, form.encoding.mask, form.encoding.fields) for form in FORMS}
    assert len(keys) == len(FORMS) == len(SCHEMES) + len(instruction_set().further)


def test_instructions_without_schemes_say_why():
    for further in instruction_set().further:
        assert further.form.exclusion
        assert not further.instance_of or further.instance_of in table().by_text
    assert decode(0xB8E10041).reason.startswith("is an atomic access")
    assert decode(0x04E00000).reason == "is an instruction of SVE, which is not supported"
    assert decode(0x04E00000).obstacle


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("add x0, x1, x2", "add GPR[64]:W, GPR[64]:R, GPR[64]:R"),
        ("add x0, x1, x2, lsl #4", "add GPR[64]:W, GPR[64]:R, GPR[64]:R, lsl 3"),
        ("add x0, x1, x2, lsl #5", "add GPR[64]:W, GPR[64]:R, GPR[64]:R, lsl 12"),
        ("and x0, x1, x2, lsl #40", "and GPR[64]:W, GPR[64]:R, GPR[64]:R, lsl 3"),
        ("add x0, x1, w2, sxtw #4", "add GPR[64]:W, GPR[64]:R, GPR[32]:R, sxtw 2"),
        ("movz x0, #1, lsl #48", "movz GPR[64]:W, IMM[16]:R, lsl 16"),
        ("mov v1.16b, v2.16b", "mov VEC[16B]:W, VEC[16B]:R"),
        ("ror x0, x1, #3", "ror GPR[64]:W, GPR[64]:R, IMM[6]:R"),
        ("fmul v0.2d, v1.2d, v2.d[0]", "fmul VEC[2D]:W, VEC[2D]:R, ELEM[64,0]:R"),
        ("fmul v0.2d, v1.2d, v2.d[1]", "fmul VEC[2D]:W, VEC[2D]:R, ELEM[64,0]:R"),
        ("fmla v0.4s, v1.4s, v2.s[3]", "fmla VEC[4S]:RW, VEC[4S]:R, ELEM[32,1]:R"),
        ("movi v0.4s, #1, lsl #24", "movi VEC[4S]:W, IMM[8]:R, lsl 24"),
        ("cset w0, eq", "cset GPR[32]:W, COND"),
        ("ldr x0, [x1], #8", "ldr GPR[64]:W, MEM[64,post]:R"),
    ],
)
def test_amounts_belong_to_the_nearest_scheme(text: str, scheme: str):
    word = read_instruction(text).word()
    assert word is not None
    assert decode(word).scheme == scheme


def test_operands_are_what_is_encoded():
    assert decode(0xF8408C41).operands[1] == InMemory(2, displacement=8, bits=64, moves="pre")
    assert decode(0x910043E0).operands[1] == RegisterPart("general", 31, 64)
    assert decode(0xAA1F03E0).operands[1].bank == "zero"  # type: ignore[union-attr]
    assert decode(0x8B020C20).operands[3] == NamedImmediate("lsl", 3)
    assert decode(0x54FFFFA1).distance == -12
    assert decode(0x4C9F7000).operands[0] == RegisterPart("vector", 0, 128, 1)


def test_a_wrong_number_of_operands_is_an_error():
    with pytest.raises(ValueError, match="zip"):
        table().by_text["add GPR[64]:W, GPR[64]:R, GPR[64]:R"].word([])


def test_what_cannot_be_encoded_is_none():
    add = table().by_text["add GPR[64]:W, GPR[64]:R, IMM[12]:R"]
    registers = [RegisterPart("general", 1, 64)] * 2
    assert add.word([*registers, 4095]) is not None
    assert add.word([*registers, 4096]) is None
    assert add.word([RegisterPart("zero", 31, 64), registers[0], 1]) is None
    assert add.word([*registers, None]) is None


def test_errors_of_statements_say_what_there_is():
    with pytest.raises(BlockError, match=r"no add here has the operands 'x0, x1'.*there is add"):
        read_instruction("add x0, x1")

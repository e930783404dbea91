"""RISC-V from words to schemes and back: the tables against llvm-mc, and against themselves."""

from __future__ import annotations

import re
import subprocess
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.isa import llvm_mc
from inference.isa.code.block import BlockError
from inference.isa.riscv64 import DOCUMENT, instruction_set
from inference.isa.riscv64.block_reader import ASSEMBLY as SYNTAX
from inference.isa.riscv64.blocks import BLOCKS
from inference.isa.riscv64.decoding import decode, table, words_of
from inference.isa.riscv64.learning import learn_document
from inference.isa.riscv64.printing import text_of
from inference.isa.riscv64.statements import compressed_word, read_instruction
from inference.isa.words.accesses import DecodedInstruction
from inference.isa.words.assembly import program_of_lines
from inference.isa.words.table import WordForm
from tests.isa.riscv64_program import needs_llvm_mc

SCALARS = [form for form in table().forms if form.form.extension != "V"]
FEATURES = "+m,+a,+f,+d,+c,+zba,+zbb,+zbs,+zfh"
NEWER_THAN_LLVM_14 = re.compile(r"czero\..*|pause|fcvt\..*IMM\[rounding\]")
"""Forms that llvm-mc 14 refuses."""

NAMES_DIFFER = ("system", "fence")
"""Categories: names of registers of the system, and of no access at all."""


def drawn_word(form: WordForm, dice: Random) -> int:
    """A word with the fixed bits of a form, and any other bits."""
    bits = form.encoding.bits
    return form.encoding.match | (dice.getrandbits(bits) & ~form.encoding.mask & (1 << bits) - 1)


words_of_forms = st.builds(drawn_word, st.sampled_from(table().forms), st.randoms(use_true_random=False))


@needs_llvm_mc
def test_llvm_mc_encodes_the_forms_as_the_document_says() -> None:
    learnt = learn_document()
    assert not learnt.changes
    assert learnt.content == DOCUMENT.read_bytes()
    assert all(map(NEWER_THAN_LLVM_14.fullmatch, learnt.failures))
    assert learnt.forms + len(learnt.failures) == len(SCALARS)
    assert learnt.checked > 8_000


@needs_llvm_mc
def test_no_word_is_another_instruction_than_for_llvm_mc() -> None:
    dice = Random(5)
    words = [drawn_word(dice.choice(SCALARS), dice) for _ in range(6000)]
    words += [dice.getrandbits(32) | 3 for _ in range(2000)] + list(range(0, 1 << 16, 7))
    decoded = [decode(word) for word in words if word & 3 != 3 or word & 0x1F != 0x1F]
    for instruction, text in zip(decoded, texts_of_llvm_mc(decoded), strict=True):
        form = instruction.form
        if form is None or form.extension == "V" or form.category in NAMES_DIFFER:
            continue
        if NEWER_THAN_LLVM_14.fullmatch(form.text):
            continue
        own = text_of(instruction)
        if instruction.size == 2 and form.operands and form.operands[0].access == "W" and " zero" in own:
            continue  # a hint, for which llvm-mc has other spellings or none
        if form.mnemonic == "c.addi" and instruction.operands[-1] == 0:
            continue  # another hint
        assert text is not None, own
        assert plain(own) == plain(text)


def plain(text: str) -> str:
    """A text as both print it: GNU's names, decimal numbers."""
    text = re.sub(r"\s+", " ", text).replace("c.", "").removesuffix(" #").strip()
    text = re.sub(r"zext\.b (\w+, \w+)", r"andi \1, 255", text)
    return re.sub(r"0x[0-9a-f]+", lambda match: str(int(match[0], 16)), text)


def texts_of_llvm_mc(instructions: list[DecodedInstruction]) -> list[str | None]:
    """What llvm-mc makes of each instruction; None where it refuses it."""
    lines = [f"[{','.join(f'{byte:#04x}' for byte in instruction.code)}]" for instruction in instructions]
    done = subprocess.run(
        [str(llvm_mc.program()), "-triple=riscv64", f"-mattr={FEATURES}", "-disassemble"],
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
    return [None if number in refused else next(texts) for number in range(len(instructions))]


@needs_llvm_mc
def test_an_assembler_makes_the_same_code_of_what_is_printed() -> None:
    dice = Random(7)
    lines, codes = [], []
    for form in SCALARS:
        for _ in range(4):
            instruction = decode(drawn_word(form, dice))
            if instruction.form is None or instruction.form.category in NAMES_DIFFER:
                continue
            if NEWER_THAN_LLVM_14.fullmatch(instruction.form.text):
                continue
            lines.append(text_of(instruction))
            codes.append(read_instruction(lines[-1]).code())
    done = llvm_mc.assemble(lines, "riscv64", "", FEATURES)
    assert not {lines[number]: reason for number, reason in done.refused.items()}
    assert done.code == b"".join(code or b"" for code in codes)


@given(words_of_forms)
def test_what_is_printed_reads_back(word: int) -> None:
    instruction = decode(word)
    if instruction.form is None:
        return
    line = BLOCKS.line_of(word)
    if line.startswith("."):
        assert int(line.split()[1], 16) == word
    else:
        (step,) = program_of_lines([line], 1, SYNTAX).instructions
        assert step.code == instruction.code


def test_an_instruction_that_is_not_compressed_says_so() -> None:
    assert BLOCKS.line_of(0x00B50533) == "add a0, a0, a1  # 4 bytes"
    assert BLOCKS.line_of(0x952E) == "add a0, a0, a1"


@given(words_of_forms)
def test_operands_encode_to_a_word_of_the_same_meaning(word: int) -> None:
    decoded = decode(word)
    if decoded.form is None:
        return
    encoded = table().by_text[decoded.form.text].word(decoded.operands)
    assert encoded is not None
    again = decode(encoded)
    assert (again.form, again.operands) == (decoded.form, decoded.operands)


@given(words_of_forms)
def test_a_short_form_means_the_same(word: int) -> None:
    long = decode(word)
    short = compressed_word(word) if long.size == 4 else None
    if short is not None:
        assert decode(short).size == 2
        assert text_of(decode(short)) == text_of(long) or "add" in long.mnemonic


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1))
def test_any_word_has_a_scheme_or_a_reason(number: int) -> None:
    (word, *_) = words_of(number.to_bytes(4, "little"))
    decoded = decode(word)
    assert bool(decoded.scheme) != bool(decoded.reason)
    assert (decoded.form is None) == (decoded.mnemonic == "")
    assert len(decoded.code) == decoded.size


def test_no_two_forms_have_the_same_bits() -> None:
    keys = {
        (form.encoding.bits, form.encoding.match, form.encoding.mask, form.encoding.fields)
        for form in SCALARS
    }
    instructions = instruction_set()
    assert len(keys) == len(SCALARS) == len(instructions.schemes) + len(instructions.further)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (0x0000_0073, "changes the control flow"),
        (0x0000_003F, "is an instruction of more than 32 bits, which is not supported"),
        (0x0000_000B, "is an instruction of a vendor's own extension"),
        (0x1000_0073, "has no scheme here"),
        (0x00C5_A52F, "is an atomic access: its time depends on other processors"),
    ],
)
def test_instructions_without_schemes_say_why(word: int, reason: str) -> None:
    assert (decode(word).scheme, decode(word).reason) == (None, reason)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("mv a0, a1", "2e85"),
        ("add a0, a1, a0", "2e95"),
        ("c.addi a0, 3", "0d05"),
        ("li a0, 5", "1545"),
        ("ret", "8280"),
        ("lw a0, 8(sp)", "2245"),
        ("lw a0, (a1)", "8841"),
        ("ld x10, 2040(x11)", "03b5857f"),
        ("fcvt.w.d a0, fa0", "537505c2"),
        ("jalr t1, 8(t3)", "67038e00"),
        ("bgt a0, a1, 16", "63c8a500"),
        ("csrr a0, fcsr", "73253000"),
        ("fence", "0f00f00f"),
        ("vsetvli t0, a2, e32, m1, ta, ma", "d772060d"),
    ],
)
def test_pseudo_instructions_and_short_forms_are_read(text: str, code: str) -> None:
    assert (read_instruction(text).code() or b"").hex() == code


def test_compression_can_be_off_and_relocated_operands_have_no_short_form() -> None:
    assert (read_instruction("mv a0, a1", False).code() or b"").hex() == "13850500"
    assert len(read_instruction("lw a0, %lo(table)(a1)").code() or b"") == 4
    assert read_instruction("lw a0, %lo(table)(a1)").symbols == ("table",)
    branch = read_instruction("bnez a0, .L1")
    assert (branch.target, len(branch.code(-8) or b""), len(branch.code(-2048) or b"")) == (".L1", 2, 4)
    assert branch.code(1 << 12) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("addi a0, a0, 5000", "no addi here has the operands"),
        ("lw a0", "no lw here has the operands"),
        ("adi a0, a0, 1", "RISC-V has no instruction 'adi' here"),
        ("li a0, 0x123456789", "is 4 instructions of RISC-V: write each"),
        ("add a0, q1, a2", "no add here has the operands"),
        ("", "is no instruction of RISC-V"),
        ("a" * 400, "at most 300 characters"),
    ],
)
def test_what_is_no_instruction_is_named(text: str, message: str) -> None:
    with pytest.raises(BlockError, match=re.escape(message)):
        read_instruction(text)


@given(st.text("addswlifmvxt0123456789.(),%- csp", max_size=40))
def test_any_statement_is_an_instruction_or_an_error(text: str) -> None:
    try:
        instruction = read_instruction(text)
    except BlockError:
        return
    code = instruction.code()
    assert code is not None
    assert decode(int.from_bytes(code, "little")).form is not None

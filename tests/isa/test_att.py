"""Schemes in AT&T syntax: mnemonics with and without letters for widths, operands in that syntax's order."""

from __future__ import annotations

import pytest
from iced_x86 import Decoder

from inference.isa import x86
from inference.isa.x86.att import example_code, gnu_lines, gnu_scheme


@pytest.mark.parametrize(
    ("text", "mnemonic", "suffixed", "operands"),
    [
        ("add GPR[64]:RW, MEM[64]:R", "add", "addq", ["MEM[64]", "GPR[64]"]),
        ("add MEM[8]:RW, IMM[8]:R", "addb", "addb", ["IMM[8]", "MEM[8]"]),
        ("movzx GPR[32]:W, GPR[8]:R", "movzbl", "movzbl", ["GPR[8]", "GPR[32]"]),
        ("shl GPR[32]:RW, cl:R", "shl", "shll", ["cl", "GPR[32]"]),
        ("cqo", "cqto", "cqto", []),
        ("vaddpd YMM:W, YMM:R, MEM[256]:R", "vaddpd", "vaddpd", ["MEM[256]", "YMM", "YMM"]),
    ],
)
def test_a_scheme_is_written_as_the_gnu_assembler_does(
    text: str, mnemonic: str, suffixed: str, operands: list[str]
) -> None:
    found = gnu_scheme(text)
    assert found is not None
    assert (found.mnemonic, found.suffixed) == (mnemonic, suffixed)
    assert [operand.name for operand in found.operands] == operands


def test_prefixes_and_unknown_texts_have_no_form() -> None:
    assert gnu_scheme("lock add MEM[64]:RW, GPR[64]:R") is None
    assert gnu_scheme("no such scheme") is None
    assert example_code("no such scheme") is None


def test_every_scheme_of_the_default_set_is_one_instruction() -> None:
    for scheme in x86.schemes():
        if not scheme.exclusion:
            code = example_code(scheme.text)
            assert code is not None
            assert len(list(Decoder(64, code))) == 1
            assert len(gnu_lines(code)) == 1

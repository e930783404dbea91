"""What an instruction is for, as pictures of a core name it."""

from __future__ import annotations

import pytest

from inference.isa import aarch64
from inference.isa.domains import UNIT_CLASSES, unit_class
from inference.isa.x86.scheme_set import scheme_and_form, schemes


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("add GPR[64]:RW, GPR[64]:R", "ALU"),
        ("add GPR[64]:RW, MEM[64]:R", ""),
        ("imul GPR[64]:RW, GPR[64]:R", "multiply"),
        ("shl GPR[32]:RW, cl:R", "shift"),
        ("mov GPR[64]:W, MEM[64]:R", "load"),
        ("movsx GPR[32]:W, MEM[8]:R", ""),
        ("mov MEM[64]:W, GPR[64]:R", "store"),
        ("vmovups YMM:W, MEM[256]:R", "vector load"),
        ("vaddps YMM:W, YMM:R, YMM:R", "FP add"),
        ("vpaddd YMM:W, YMM:R, YMM:R", "vector ALU"),
        ("vmulpd XMM:W, XMM:R, XMM:R", "FP mul"),
        ("vpmulld XMM:W, XMM:R, XMM:R", "vector mul"),
        ("vmovd XMM:W, GPR[32]:R", "int ↔ vector"),
        ("kandw K:W, K:R, K:R", "mask"),
    ],
)
def test_schemes_of_x86(text: str, kind: str) -> None:
    found = scheme_and_form(text)
    assert found is not None, text
    scheme = found[0]
    assert unit_class(scheme.text, scheme.mnemonic, scheme.category, scheme.memory) == kind


def test_schemes_of_aarch64() -> None:
    kinds = {
        scheme.mnemonic: unit_class(scheme.text, scheme.mnemonic, scheme.category, scheme.memory)
        for scheme in aarch64.by_text().values()
        if scheme.mnemonic in ("fmul", "madd", "b.eq", "fcvtn", "zip1", "fdiv")
    }
    assert kinds == {
        "fmul": "FP mul",
        "madd": "multiply",
        "b.eq": "branch",
        "fcvtn": "convert",
        "zip1": "shuffle",
        "fdiv": "FP divide",
    }


def test_all_that_is_inferred_by_default_has_a_known_kind_or_uses_memory_besides() -> None:
    for scheme in schemes():
        kind = unit_class(scheme.text, scheme.mnemonic, scheme.category, scheme.memory)
        assert kind == "" or kind in UNIT_CLASSES
        if not scheme.exclusion and scheme.memory == "":
            assert kind, scheme.text

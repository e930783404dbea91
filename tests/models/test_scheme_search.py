"""The search syntax of the scheme table as a database filter."""

import pytest

from inference.isa.search import SearchError
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import ISA
from inference.models.scheme_search import (
    goes_beyond_default,
    search_schemes,
    searched_schemes,
    select_schemes,
)
from inference.storage.instruction_sets import store_isa
from tests.rows import instructions

isa = instructions.isa


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "add imul vmovaps vpclmulqdq wbinvd"),
        ("gpr", "add imul"),
        ("IMUL", "imul"),
        ('"GPR[64]:RW, GPR"', "add imul"),
        ("mnemonic:ADD", "add"),
        ("mnemonic:mul", ""),
        ("ext:avx", "vmovaps vpclmulqdq"),
        ("ext:VPCLMULQDQ", "vpclmulqdq"),
        ("ext:VPCLMUL", ""),
        ("category:multiply width:64", "imul"),
        ("memory:none -is:excluded", "add imul vpclmulqdq"),
        ("memory:R", "vmovaps"),
        ("is:starter", "add"),
        ("is:default -ext:AVX", "add imul"),
        ("-gpr -ymm", "wbinvd"),
        ("100%", ""),
        ("_", ""),
    ],
)
def test_every_term_narrows_the_schemes(isa: ISA, query: str, found: str) -> None:
    rows = search_schemes(isa.schemes.all(), query)
    assert " ".join(rows.values_list("mnemonic", flat=True)) == found


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        ("starter", ["add"]),
        ("default", ["add", "imul", "vmovaps", "vpclmulqdq"]),
        (" ALL ", ["add", "imul", "vmovaps", "vpclmulqdq", "wbinvd"]),
        ("width:256", ["vmovaps", "vpclmulqdq"]),
    ],
)
def test_a_selection_is_a_word_or_a_search(isa: ISA, selection: str, found: list[str]) -> None:
    assert list(select_schemes(isa.schemes.all(), selection).values_list("mnemonic", flat=True)) == found


@pytest.fixture
def groups(db: None) -> ISA:
    """One of each kind, by their own texts and reasons."""
    wanted = (
        "add GPR[64]:RW, GPR[64]:R",
        "addps XMM:RW, XMM:R",
        "paddb MM:RW, MM:R",
        "fadd ST:RW, st0:R",
        "fadd MEM[64]:R",
        "adc GPR[64]:RW, GPR[64]:R",
        "vaddps ZMM:W, ZMM:R, ZMM:R",
        "kaddw K:W, K:R, K:R",
        "vscatterdps MEM[32,ZMM]{k}:RW, ZMM:R",
    )
    return store_isa("x86-64", [scheme for text in wanted for scheme in [scheme_and_form(text)[0]]], "some")


@pytest.mark.parametrize(
    ("selection", "found"),
    [
        ("is:measurable", "add addps paddb fadd"),
        ("is:breakable", "adc"),
        ("legacy-sse", "addps"),
        ("mmx", "paddb"),
        ("x87", "fadd"),
        ("avx512", "vaddps kaddw"),
        ("is:avx512", "vaddps kaddw vscatterdps"),
        ("add", "add addps paddb fadd fadd"),
        ("add ext:AVX512F", "vaddps"),
        ("zmm", "vaddps vscatterdps"),
        ("width:512", "vaddps vscatterdps"),
        ("-ext:AVX512F add", "add addps paddb fadd fadd"),
    ],
)
def test_groups_are_chosen_by_name_and_avx512_when_named(groups: ISA, selection: str, found: str) -> None:
    rows = select_schemes(groups.schemes.all(), selection)
    assert " ".join(rows.values_list("mnemonic", flat=True)) == found


def test_avx512_is_found_where_a_switch_says_so(groups: ISA) -> None:
    assert searched_schemes(groups.schemes.all(), "add", avx512=True).filter(mnemonic="vaddps").exists()
    assert not searched_schemes(groups.schemes.all(), "").filter(mnemonic="kaddw").exists()


@pytest.mark.parametrize(
    ("selection", "beyond"),
    [
        ("default", False), ("starter", False), ("all", False), ("x87", True), ("vpadd", False),
        ("is:x87", True), ("-is:x87", False), ("zmm", True), ("is:default", True),
    ],
)  # fmt: skip
def test_a_selection_tells_whether_it_goes_beyond_the_default_set(selection: str, beyond: bool) -> None:
    assert goes_beyond_default(selection) == beyond


def test_a_search_that_cannot_be_read_says_so(isa: ISA) -> None:
    with pytest.raises(SearchError, match="unknown search key"):
        search_schemes(isa.schemes.all(), "colour:red")

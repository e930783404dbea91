"""The search syntax of the scheme table as a database filter."""

import pytest

from inference.isa.search import SearchError
from inference.models import ISA
from inference.models.scheme_search import search_schemes, select_schemes


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


def test_a_search_that_cannot_be_read_says_so(isa: ISA) -> None:
    with pytest.raises(SearchError, match="unknown search key"):
        search_schemes(isa.schemes.all(), "colour:red")

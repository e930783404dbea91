"""Schemes are found by names of assemblers, uops.info and LLVM; what is measured and usual comes first."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from inference.core.mapping import PortMapping as Value
from inference.features.library.search.query import find
from inference.isa.x86.scheme_set import schemes_of
from inference.models import ISA, PortMapping
from inference.models import Experiment as ExperimentRow
from inference.models.experiment import ExperimentTerm
from inference.models.scheme_search import FIT, annotate_fit, search_schemes, searched_schemes, select_schemes
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping

MNEMONICS = (
    *(
        "add",
        "padd",
        "paddq",
        "paddd",
        "vpaddq",
        "vpaddd",
        "vaddpd",
        "cmovne",
        "cmove",
        "sete",
        "mov",
        "movzx",
    ),
    *("vcmpps", "vcmppd", "cdqe", "shl", "imul", "movq", "kaddw", "vpermt2d", "stosq", "movsxd"),
)
ADD = "add GPR[64]:RW, GPR[64]:R"


@pytest.fixture
def isa(db: None) -> ISA:
    """All schemes of some mnemonics."""
    return store_isa("x86-64", [scheme for name in MNEMONICS for scheme in schemes_of(name)], "some")


def first(isa: ISA, query: str, most: int = 3) -> list[str]:
    rows = annotate_fit(searched_schemes(isa.schemes.all(), query), query)
    return list(rows.order_by(FIT, "pk").values_list("text", flat=True)[:most])


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("add", ADD),
        ("cmovnz", "cmovne GPR[64]:RW, GPR[64]:R"),
        ("mnemonic:cmovnz", "cmovne GPR[64]:RW, GPR[64]:R"),
        ("setz", "sete GPR[8]:W"),
        ("sal", "shl GPR[64]:RW, cl:R"),
        ("vcmpltps width:256", "vcmpps YMM:W, YMM:R, YMM:R, IMM[8]:R"),
        ("addq", ADD),
        ("ADDL", "add GPR[32]:RW, GPR[32]:R"),
        ("cltq", "cdqe"),
        ("movzbl", "movzx GPR[32]:W, GPR[8]:R"),
        ("movslq", "movsxd GPR[64]:W, GPR[32]:R"),
        ("ADD_R64_R64", ADD),
        ("ADD (R64, R64)", ADD),
        ("VADDPD_YMM_YMM_M256", "vaddpd YMM:W, YMM:R, MEM[256]:R"),
        ("ADD_LOCK_M64_R64", "lock add MEM[64]:RW, GPR[64]:R"),
        ("ADD64rr", ADD),
        ("VADDPDYrr", "vaddpd YMM:W, YMM:R, YMM:R"),
        ("VPADDDZ128rmk", "vpaddd XMM{k}:RW, XMM:R, MEM[128]:R"),
        ("SHL64rCL", "shl GPR[64]:RW, cl:R"),
        ("IMUL64rri32", "imul GPR[64]:W, GPR[64]:R, IMM[32]:R"),
        ("kaddw", "kaddw K:W, K:R, K:R"),
        ("mnemonic:vpermt2d", "vpermt2d XMM:RW, XMM:R, XMM:R"),
    ],
)
def test_the_scheme_that_a_name_means_comes_first(isa: ISA, query: str, found: str) -> None:
    assert first(isa, query, 1) == [found]


def test_movabs_finds_the_moves_with_eight_bytes_alone(isa: ISA) -> None:
    texts = search_schemes(isa.schemes.all(), "movabs").values_list("text", flat=True)
    assert "mov GPR[64]:W, IMM[64]:R" in texts
    assert all("IMM[64]" in text or "MOFFS" in text for text in texts)


def test_a_name_is_excluded_by_a_minus_and_narrowed_by_other_terms(isa: ISA) -> None:
    rows = isa.schemes.filter(mnemonic__in=("cmovne", "cmove"))
    assert {row.mnemonic for row in search_schemes(rows, "-cmovnz")} == {"cmove"}
    assert {row.memory for row in search_schemes(rows, "cmovnz memory:R")} == {"R"}


def test_part_of_a_word_is_still_looked_for_in_the_text(isa: ISA) -> None:
    found = {row.mnemonic for row in search_schemes(isa.schemes.all(), "addq")}
    assert found == {"add", "paddq", "vpaddq"}


@pytest.mark.parametrize("text", ["what", "rax", "addr", "vpadd", "a b (c", "ADD (R64, R63)", "_", "x" * 400])
def test_other_words_mean_nothing_more_than_they_say(isa: ISA, text: str) -> None:
    texts = search_schemes(isa.schemes.all(), f'"{text}"').values_list("text", flat=True)
    assert all(text.lower() in found.lower() for found in texts)


def measured(isa: ISA, text: str) -> None:
    """An experiment with this scheme alone."""
    row = ExperimentRow.objects.create(isa=isa, key=text, length=1)
    ExperimentTerm.objects.create(experiment=row, scheme=isa.schemes.get(text=text), count=1)


def test_what_was_measured_here_comes_first_then_usual_sizes_then_the_rest(isa: ISA) -> None:
    texts = first(isa, "mnemonic:add", 100)
    assert texts[:2] == [ADD, "add GPR[32]:RW, GPR[32]:R"]
    small = [number for number, text in enumerate(texts) if "GPR[8]" in text or "GPR[16]" in text]
    strange = [number for number, text in enumerate(texts) if text.startswith("lock") or "GPR[8h]" in text]
    assert min(small) > texts.index("add GPR[64]:RW, MEM[64]:R")
    assert min(strange) > max(
        number for number in small if number not in strange and "0x" not in texts[number]
    )
    measured(isa, "add GPR[16]:RW, GPR[16]:R")
    assert first(isa, "add", 2) == ["add GPR[16]:RW, GPR[16]:R", ADD]


def test_every_door_has_the_same_order(isa: ISA, client: Client, administrator: object) -> None:
    client.force_login(administrator)
    value = Value(("a",), dict.fromkeys(("add GPR[8]:RW, GPR[8]:R", ADD), ((1, 1),)))
    mapping = store_mapping("one", isa, value, origin=PortMapping.Origin.IMPORT)
    (group,) = find("addq", 5)
    assert group.hits[0].name == ADD
    table = client.get(reverse("isa", args=[isa.pk]), {"q": "addq"})
    assert table.context["page"].rows[0].text == ADD
    told = client.get(f"/api/v1/isas/{isa.pk}/schemes", {"q": "ADD64rr"}).json()
    assert [one["text"] for one in told["items"]] == [ADD]
    tab = client.get(reverse("mapping", args=[mapping.pk]), {"tab": "schemes", "q": "add"})
    assert [row.text for row in tab.context["page"].rows] == [ADD, "add GPR[8]:RW, GPR[8]:R"]
    assert [row.text for row in select_schemes(isa.schemes.all(), "ADD64rr")] == [ADD]
    found = client.get("/api/v1/search", {"q": "VADDPDYrr"}).json()
    assert found["groups"][0]["hits"][0]["name"] == "vaddpd YMM:W, YMM:R, YMM:R"


def test_pages_go_on_from_a_row_and_show_none_twice(isa: ISA, client: Client, administrator: object) -> None:
    client.force_login(administrator)
    seen: list[str] = []
    cursor = ""
    for _ in range(100):
        told = client.get(f"/api/v1/isas/{isa.pk}/schemes", {"q": "a", "limit": 50, "cursor": cursor}).json()
        seen += [one["text"] for one in told["items"]]
        cursor = told["next"]
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == told["total"] > 100


def test_a_search_by_a_name_takes_no_more_queries_than_any_other(isa: ISA) -> None:
    counts = []
    for text in ("nothing at all", "addq", "CMOV64rr", "ADD_R64_R64"):
        with CaptureQueriesContext(connection) as queries:
            find(text, 5)
        counts.append(len(queries))
    assert (
        max(counts) <= counts[0] + 2
    )  # the count, where there are more than are shown; whether any row matches

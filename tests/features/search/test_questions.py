"""Search texts as questions: instructions with operands, ports, and named CPUs."""

from __future__ import annotations

from urllib.parse import parse_qs, urlparse

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from inference.core.mapping import PortMapping as Value
from inference.features.library.instruction import cpus
from inference.features.library.search import question
from inference.features.library.search.question import answers_to, near_answers, question_of
from inference.isa.x86.naming import meaning_of
from inference.isa.x86.scheme_set import schemes_of
from inference.models import ISA, Machine, PortMapping, StoredCoreModel
from inference.models.scheme_search import search_schemes
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
ZEN4 = {"vendor": "AuthenticAMD", "family": 25, "model": 17}


@pytest.fixture(autouse=True)
def no_gallery(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Recorded cores answer as well: `undo` brings them back."""
    monkeypatch.setattr(cpus, "recorded_cores", tuple)
    monkeypatch.setattr(question, "recorded_cores", tuple)
    return monkeypatch


@pytest.fixture
def isa(db: None) -> ISA:
    names = ("add", "and", "imul", "in", "vpaddd", "shl", "movzx")
    return store_isa("x86-64", [scheme for name in names for scheme in schemes_of(name)], "some")


@pytest.fixture
def mapping(isa: ISA) -> PortMapping:
    """A Zen 4's core model, with µops of two schemes."""
    machine = Machine.objects.create(name="lab", kind="agent", isa=isa, facts=ZEN4)
    value = Value(ports=("0", "1", "5"), usage={ADD: ((0b011, 1),), IMUL: ((0b100, 1),)})
    row = store_mapping("Zen 4 ports", isa, value, origin=PortMapping.Origin.RUN, machine=machine)
    StoredCoreModel.objects.create(
        name="Zen 4 core", isa=isa, machine=machine, mapping=row, port_names={"5": "MUL0"}
    )
    return row


@pytest.mark.parametrize(
    ("word", "operands"),
    [
        ("r64", {"GPR[64]"}),
        ("R8", {"GPR[8]", "GPR[8a]", "GPR[8b]", "GPR[8h]"}),
        ("r/m32", {"GPR[32]", "MEM[32]", "MEM[32,"}),
        ("xmm/m128", {"XMM", "MEM[128]", "MEM[128,"}),
        ("imm8", {"IMM[8]", "IMM[8,"}),
        ("mem", {"MEM["}),
        ("r65", set()),
        ("r64/", set()),
        ("add", set()),
    ],
)
def test_a_word_abbreviates_operands(word: str, operands: set[str]):
    assert meaning_of(word).operands == operands


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("imul r64, m64", {"imul GPR[64]:RW, MEM[64]:R"}),
        ("vpaddd ymm, m256 -{k}", {"vpaddd YMM:W, YMM:R, MEM[256]:R"}),
        ("and r64, imm8", {"and GPR[64]:RW, IMM[8]:R"}),
    ],
)
def test_the_scheme_table_knows_abbreviated_operands(isa: ISA, query: str, texts: set[str]):
    found = set(search_schemes(isa.schemes.exclude(encoding="EVEX"), query).values_list("text", flat=True))
    assert texts <= found
    assert len(found) <= 5


def only_page(text: str) -> tuple[str, dict[str, list[str]]]:
    (answer,) = answers_to(question_of(text))
    address = urlparse(answer.page)
    return address.path, parse_qs(address.query)


@pytest.mark.parametrize(
    ("text", "mnemonic", "forms"),
    [
        ("imul r64", "imul", "r64"),
        ("IMUL r64, r/m64", "imul", "r64 r/m64"),
        ("what is the latency of and r64?", "and", "r64"),
        ("in", "in", None),
        ("addq", "add", None),
        ("ADD_R64_R64", "add", None),
        ("imul GPR[64]", "imul", "GPR[64]"),
    ],
)
def test_an_instruction_in_any_spelling_has_its_card(isa: ISA, text: str, mnemonic: str, forms: str | None):
    path, query = only_page(text)
    assert path == reverse("instruction", args=["x86-64", mnemonic])
    assert query.get("forms") == (None if forms is None else [forms])


@pytest.mark.parametrize("name", ["zen 4", "Zen4", "lab", "ZEN  4"])
def test_a_named_cpu_is_on_the_card(mapping: PortMapping, name: str):
    path, query = only_page(f"{name} imul latency")
    assert path == reverse("instruction", args=["x86-64", "imul"])
    assert query == {"cpus": [f"m{mapping.machine_id}"]}


def test_a_core_without_facts_is_said_to_have_none(mapping: PortMapping):
    (answer,) = answers_to(question_of("zen 5 imul"))
    assert "nothing is known of it on the CPU that you named" in answer.detail


@pytest.mark.parametrize("text", ["what runs on port 5", "port 5 zen 4", "ports 5", "port MUL0"])
def test_a_port_leads_to_its_schemes(visitor: Client, mapping: PortMapping, text: str):
    path, query = only_page(text)
    assert path == reverse("mapping", args=[mapping.pk])
    assert query == {"tab": ["schemes"], "port": ["5"]}
    page = visitor.get(path, query)
    assert [row.text for row in page.context["page"].rows] == [IMUL]


def test_a_port_that_no_core_has_is_no_answer(mapping: PortMapping):
    assert answers_to(question_of("port 17")) == []
    assert answers_to(question_of("port 5 skylake")) == []


@pytest.mark.parametrize("text", ["", "my imul mapping", "r64", "frobnicate", "what is it", "port", ",,?"])
def test_other_texts_are_no_questions(mapping: PortMapping, text: str):
    assert answers_to(question_of(text)) == []


def test_a_question_with_one_answer_redirects_and_all_lists_it(visitor: Client, mapping: PortMapping):
    answer = visitor.get(reverse("search"), {"q": "imul r64"})
    assert answer.status_code == 302
    card = visitor.get(answer["Location"])
    assert "Forms with" in card.text
    assert "MEM[16]" not in card.text
    page = visitor.get(reverse("search"), {"q": "imul r64", "all": 1}).text
    assert "Answers" in page
    assert "Schemes of x86-64" in page


def test_one_instruction_in_machine_code_has_its_card(visitor: Client, mapping: PortMapping):
    page = visitor.get(reverse("search"), {"q": "480fafc3"})
    assert [answer.text for answer in page.context["answers"]] == [IMUL]


def test_suggestions_are_links_and_few_queries(visitor: Client, mapping: PortMapping):
    visitor.get(reverse("search-suggestions"), {"q": "imul r64"})
    with CaptureQueriesContext(connection) as queries:
        answer = visitor.get(reverse("search-suggestions"), {"q": "imul r64"})
    assert answer.status_code == 200
    assert reverse("instruction", args=["x86-64", "imul"]) in answer.text
    assert "<html" not in answer.text
    assert len(queries) <= 40
    assert visitor.get(reverse("search-suggestions")).text.strip() == ""


def test_the_card_of_forms_that_no_form_has(visitor: Client, mapping: PortMapping):
    page = visitor.get(reverse("instruction", args=["x86-64", "imul"]), {"forms": "zmm"})
    assert page.status_code == 200
    assert "all forms" in page.text


@pytest.mark.parametrize(
    ("text", "mnemonics"),
    [
        ("imlu", ["imul"]),
        ("vpad", ["vpaddd"]),
        ("imul 64", ["imul"]),
        ("zen 6 shl", ["shl"]),
        ("shl, add", ["shl", "add"]),
        ("qqqqqq", []),
        ("", []),
    ],
)
def test_a_begun_or_misspelt_mnemonic_is_near_its_card(isa: ISA, text: str, mnemonics: list[str]):
    near = near_answers(question_of(text))
    assert [answer.text for answer in near][: len(mnemonics)] == mnemonics
    assert bool(near) == bool(mnemonics)
    assert answers_to(question_of(text)) == []


@pytest.mark.parametrize("text", ["IMUL64rr", "IMUL_R64_R64", "IMUL (R64, R64)"])
def test_the_name_of_one_form_leads_to_it_on_the_card(isa: ISA, text: str):
    (answer,) = answers_to(question_of(text))
    assert answer.text == IMUL
    assert answer.page.endswith(f"/imul/#scheme-{isa.schemes.get(text=IMUL).pk}")


def test_recorded_cores_answer_for_their_ports(no_gallery: pytest.MonkeyPatch, isa: ISA, visitor: Client):
    no_gallery.undo()
    answers = answers_to(question_of("what runs on ALU2 on zen 5"))
    assert [answer.text for answer in answers] == ["Schemes on port ALU2 of Zen 5, as recorded"]
    page = visitor.get(answers[0].page)
    assert IMUL in [row.text for row in page.context["page"].rows]


def test_hexadecimal_digits_may_have_a_prefix(visitor: Client, isa: ISA):
    page = visitor.get(reverse("search"), {"q": "0x480fafc3", "all": "1"})
    assert [answer.text for answer in page.context["answers"]] == [IMUL]


def test_a_misspelt_mnemonic_is_asked_about(visitor: Client, isa: ISA):
    assert "Did you mean" in visitor.get(reverse("search"), {"q": "imlu"}).text
    assert "/i/x86-64/imul/" in visitor.get(reverse("search-suggestions"), {"q": "imlu"}).text

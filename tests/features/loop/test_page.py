"""The page that explains a loop, and its answer alone, by the recorded core model and by a stored one."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs, urlparse

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from inference.features.asking.loop.pages import EXAMPLE
from inference.features.asking.loop.query import chosen_cpu, cpus
from inference.features.asking.loop.request import TEXT_LIMIT, LoopQuestion
from inference.features.learning.core_model.storing import store_document
from inference.features.library.gallery.query import recorded_cores
from inference.isa.targets import DEFAULT
from inference.models import ISA, Machine, StoredCoreModel
from inference.storage.instruction_sets import store_isa
from tests.rows.library import visitor

__all__ = ["visitor"]

RECORDED_NAME = recorded_cores()[0].name
CHAIN = "imul rax, rbx\nadd rcx, rax"
TWO_LOOPS = """\
first:
    add rax, [rsi]
    add rsi, 8
    dec rcx
    jne first
    ret
second:
    imul rdx, rax
    dec r8
    jne second
"""


@pytest.fixture
def stored(db: None) -> StoredCoreModel:
    """The recorded core model as an imported one."""
    store_isa(DEFAULT, [], "a test")
    return store_document(recorded_cores()[0].document, "lab")


def problems_in(html: str) -> list[dict[str, object]]:
    record = re.search(r'<script id="loop-problems"[^>]*>(.*?)</script>', html)
    assert record is not None
    problems: list[dict[str, object]] = json.loads(record[1])
    return problems


def ask(visitor: Client, **fields: object) -> tuple[int, str]:
    answer = visitor.post(reverse("loop-answer"), fields)
    return answer.status_code, answer.text


def test_without_a_profiled_cpu_the_recorded_one_explains_an_example(visitor: Client) -> None:
    page = visitor.get(reverse("loop"))
    assert page.status_code == 200
    assert page.context["answer"].cpu.is_recorded
    assert page.context["answer"].analysis.usual == pytest.approx(4, abs=0.1)
    assert "No CPU is profiled here yet" in page.text
    assert f"as recorded on {recorded_cores()[0].recorded}" in page.text
    assert "movzx   ecx" in page.text


def test_a_profiled_cpu_comes_first_and_the_recorded_one_last(
    visitor: Client, stored: StoredCoreModel
) -> None:
    page = visitor.get(reverse("loop"))
    assert [cpu.name for cpu in page.context["cpus"]] == ["lab", *(core.name for core in recorded_cores())]
    assert page.context["cpu"].row == stored
    assert "as recorded on" not in page.text
    recorded = visitor.get(reverse("loop"), {"cpu": RECORDED_NAME})
    assert "as recorded on" in recorded.text
    assert "No CPU is profiled here yet" not in recorded.text


def test_this_computer_comes_before_others_and_equal_labels_have_names(db: None) -> None:
    isa = store_isa(DEFAULT, [], "a test")
    facts = {"vendor": "AuthenticAMD", "family": 25, "model": 17}
    here = Machine.objects.create(name="desk", kind="agent", isa=isa, facts=facts, local=True)
    other = Machine.objects.create(name="server", kind="agent", isa=isa, facts={}, cpu="Xeon")
    for name, machine in (("old", here), ("new", here), ("theirs", other)):
        StoredCoreModel.objects.create(name=name, isa=isa, machine=machine)
    assert [cpu.label for cpu in cpus()] == [
        "Zen 4, this computer: new",
        "Zen 4, this computer: old",
        "Xeon, server",
        *(core.label for core in recorded_cores()),
    ]


def test_a_core_model_may_have_the_name_of_the_recorded_one(stored: StoredCoreModel) -> None:
    StoredCoreModel.objects.update(name=RECORDED_NAME)
    first, *others = cpus()
    assert (first.row, first.is_recorded) == (stored, False)
    assert RECORDED_NAME not in [cpu.name for cpu in others]


def test_recorded_core_models_need_no_database() -> None:
    for core in recorded_cores():
        assert (core.row.pk, core.row.isa.name) == (None, DEFAULT)


def test_the_cpu_is_remembered_until_it_is_gone(visitor: Client, stored: StoredCoreModel) -> None:
    name = RECORDED_NAME
    assert ask(visitor, code=CHAIN, cpu=name)[0] == 200
    assert visitor.get(reverse("loop")).context["cpu"].is_recorded
    assert ask(visitor, code=CHAIN, cpu="lab")[0] == 200
    assert visitor.get(reverse("loop")).context["cpu"].name == "lab"
    stored.delete()
    assert visitor.get(reverse("loop")).context["cpu"].is_recorded


@pytest.mark.parametrize("name", ["größer; a=b", "a, b", "\N{SNOWMAN}"])
def test_any_name_is_remembered(visitor: Client, stored: StoredCoreModel, name: str) -> None:
    StoredCoreModel.objects.update(name=name)
    StoredCoreModel.objects.create(name="newer", isa=stored.isa, document=stored.document)
    assert ask(visitor, code=CHAIN, cpu=name)[0] == 200
    assert visitor.get(reverse("loop")).context["cpu"].name == name


def test_the_address_holds_the_question(visitor: Client) -> None:
    question = LoopQuestion(code=CHAIN, mode="unrolled", registers="apart", without="0-1-rax", piece=0)
    address = urlparse(question.address(unknown="unsupported"))
    fields = {name: values[0] for name, values in parse_qs(address.query).items()}
    assert fields == {
        "code": CHAIN,
        "mode": "unrolled",
        "registers": "apart",
        "without": "0-1-rax",
        "unknown": "unsupported",
    }
    page = visitor.get(question.address())
    assert page.context["question"] == question
    assert page.context["answer"].changes.without_dependences == {"0-1-rax"}


def test_machine_code_of_a_link_is_shown_as_assembly(visitor: Client) -> None:
    page = visitor.get(reverse("loop"), {"isa": DEFAULT, "code": "4801d8480fafc3"})
    assert page.context["question"].code == "add rax, rbx\nimul rax, rbx"
    assert len(page.context["answer"].block.instructions) == 2


def test_of_several_loops_one_is_chosen_and_the_others_are_links(visitor: Client) -> None:
    page = visitor.get(reverse("loop"), {"code": TWO_LOOPS})
    pieces = page.context["pieces"]
    assert [(listed.piece.name, listed.is_chosen) for listed in pieces][:2] == [
        ("first", True),
        ("second", False),
    ]
    second = visitor.get(pieces[1].url)
    assert second.context["answer"].piece.name == "second"
    assert "aria-current" in second.text
    gone = visitor.get(LoopQuestion(code=CHAIN, piece=7).address())
    assert gone.context["answer"].number == 1


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("add rax, rbx\nfrobnicate rax", 2, "no instruction 'frobnicate'"),
        ("add rax, foo", 1, "'foo' is no register"),
        ("add x0, x1, x2\nmul x3, x0", 2, "No mul here has the operands"),
        ("nop\n" * 600, 1, "500 instructions"),
        ("90" * 5000, 0, "4,096 bytes"),
        ("0f", 0, ""),
        ("jmp rax", 0, "no instruction but jumps"),
    ],
)
def test_what_is_wrong_with_the_code_is_said_at_its_line(
    visitor: Client, code: str, line: int, words: str
) -> None:
    status, html = ask(visitor, code=code)
    assert status == 400
    assert "loop-answer" not in html
    (problem,) = problems_in(html)
    assert problem["line"] == line
    assert words in str(problem["message"])
    page = visitor.get(reverse("loop"), {"code": code})
    assert page.status_code == 400
    assert words in page.text.replace("&#x27;", "'")


def test_a_lost_line_of_another_loop_is_a_warning(visitor: Client) -> None:
    code = f"{TWO_LOOPS}    ret\n.L1: .byte 0x90, 0x90\n    nop\n"
    status, html = ask(visitor, code=code, piece=1)
    assert status == 200
    assert [(problem["line"], problem["severity"]) for problem in problems_in(html)] == [(12, "warning")]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cpu": "nobody's"}, "no core model"),
        ({"mode": "sideways"}, "Mode:"),
        ({"piece": "-1"}, "Piece:"),
        ({"isa": "Z80"}, "Z80"),
        ({"code": "n" * (TEXT_LIMIT + 1)}, "more than 100,000 characters"),
    ],
)
def test_a_wrong_field_is_named(visitor: Client, fields: dict[str, str], words: str) -> None:
    status, html = ask(visitor, **{"code": CHAIN, **fields})
    assert status == 400
    assert words in html
    assert "loop-answer" not in html


def test_no_code_asks_for_some(visitor: Client) -> None:
    status, html = ask(visitor, code=" \n ")
    assert status == 200
    assert "Paste a loop" in html


@pytest.mark.parametrize("unknown", ["nearest", "unsupported"])
@pytest.mark.parametrize(
    "code",
    [
        "nop",
        "vfmadd231ps ymm0, ymm1, [rsi]",
        "add rax, rbx\n" * 100,
        "fsin",
        "lock cmpxchg16b [rdi]",
        ".L:\n jne .L",
        EXAMPLE,
    ],
)
def test_every_block_has_an_answer_or_a_clear_refusal(visitor: Client, code: str, unknown: str) -> None:
    status, html = ask(visitor, code=code, unknown=unknown)
    assert status == (400 if code.startswith(".L:\n jne") else 200), html
    assert ("loop-verdict" in html) == (status == 200)


@pytest.mark.django_db
def test_strangers_log_in(client: Client) -> None:
    assert client.get(reverse("loop")).status_code == 302
    assert client.post(reverse("loop-answer"), {"code": CHAIN}).status_code == 302


@pytest.mark.django_db
@override_settings(PUBLIC_READING=True)
def test_readers_may_ask(client: Client) -> None:
    assert ask(client, code=CHAIN)[0] == 200


def test_the_chosen_cpu_is_that_of_the_name() -> None:
    assert chosen_cpu([], "") is None


def test_a_core_without_parts_says_what_it_lacks(visitor: Client, db: None) -> None:
    isa: ISA = store_isa(DEFAULT, [], "a test")
    StoredCoreModel.objects.create(name="empty", isa=isa)
    status, html = ask(visitor, code=CHAIN, cpu="empty")
    assert status == 200
    assert "loop-verdict" in html

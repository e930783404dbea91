"""Abstract blocks and expansions as JSON: round trips, a fixed form, and refusals that help."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anica_app.core.domain import documents
from anica_app.core.domain.documents import expanded_document
from anica_app.core.domain.wording import block_wording, expansion_wording
from anica_app.core.errors import AnicaError
from inference.isa.blocks import block_of_text
from tests.anica.core.small import random_abstract, random_block, small_domain
from tests.drawn import examples

DOMAIN = small_domain()
SEEDS = st.integers(0, 2**32)


@examples(60)
@given(SEEDS, st.booleans())
def test_documents_come_back_as_what_they_were(seed: int, scheme: bool) -> None:
    domain = small_domain(scheme=scheme)
    abstract = random_abstract(domain, Random(seed))
    text = json.dumps(domain.document(abstract))
    assert domain.read(json.loads(text)) == abstract
    assert json.dumps(domain.document(domain.read(json.loads(text)))) == text
    block_wording(json.loads(text))
    for expansion in (*domain.expansions(abstract), *domain.small_expansions(abstract)):
        document = json.loads(json.dumps(domain.expansion_document(expansion)))
        back = domain.read_expansion(document)
        assert back == expansion
        assert domain.expand(abstract, back) == domain.expand(abstract, expansion)
        assert domain.expansion_document(back) == document
        assert expansion_wording(document)
        assert expanded_document(domain.document(abstract), document) == domain.document(
            domain.expand(abstract, expansion)
        )


def of_text(text: str) -> Any:
    block = DOMAIN.block_of_code(block_of_text(text).code)
    assert block is not None
    return DOMAIN.document(DOMAIN.represent(block))


def test_the_form_is_fixed() -> None:
    assert of_text("mov rbx, [rbp + 64]\nshl ebx, 0") == {
        "instructions": [
            {
                "mnemonic": {"base": "mov", "edits": 0},
                "category": "move",
                "extension": "BASE",
                "isa-set": "X64",
                "lock": "no",
                "rep": "no",
                "memory": ["R", "size:64"],
                "operands": ["GPR[64]:W", "MEM[64]:R"],
                "uops": {"fewer_than": 32},
            },
            {
                "mnemonic": {"base": "shl", "edits": 0},
                "category": "shift",
                "extension": "BASE",
                "isa-set": "INTEL386",
                "lock": "no",
                "rep": "no",
                "memory": "none",
                "operands": ["0x0", "GPR[32]:RW"],
                "uops": {"fewer_than": 8},
            },
        ],
        "aliasing": [["1.register.1", "2.register.1", "same"]],
        "dependencies": [[1, 2, "register"]],
    }


def test_words_say_what_a_block_asks_for() -> None:
    found = block_wording(of_text("lock add [r8], rbx"))
    assert found.instructions == (
        (
            "mnemonic `add`",
            "category arithmetic",
            "extension BASE",
            "instruction set X64",
            "with a `lock` prefix",
            "without a `rep` prefix",
            "reads and writes 64 bits of memory",
            "operand `GPR[64]:R`",
            "operand `MEM[64]:RW`",
            "writes the flags af, cf, of, pf, sf, zf",
            "fewer than 16 µops",
        ),
    )
    loose = {
        "instructions": [
            {"mnemonic": {"base": "add", "edits": 2}, "memory": [], "operands": "none"},
            {
                "category": ["rotate", "shift"],
                "memory": "none",
                "operands": ["cf:RW"],
                "uops": {"fewer_than": 1},
            },
            {"memory": ["W", "size<=64", "size>=16"], "operands": ["flags:R", "MEM[>=16]:W"]},
            {"memory": ["W"], "operands": []},
            {"memory": ["size<=64", "size>=64"]},
            {},
        ],
        "aliasing": [
            ["1.register.1", "2.register.2", "different"],
            ["1.memory.1", "3.memory.2", "same"],
        ],
        "dependencies": [[2, 1, "register"], [1, 2, "flag"]],
    }
    found = block_wording(loose)
    assert found.instructions == (
        ("mnemonic within 2 edits of `add`", "accesses memory", "no operands, not even implicit ones"),
        ("category rotate or shift", "does not access memory", "reads and writes the flag cf", "no µops"),
        (
            "writes at least 16 and at most 64 bits of memory",
            "operand `MEM:W` of at least 16 bits",
            "reads some flag",
        ),
        ("writes memory", "some operand"),
        ("accesses 64 bits of memory",),
        ("any instruction",),
    )
    assert found.aliasing == (
        "memory operand of instruction 1 is the same as memory operand 2 of instruction 3",
        "register operand 1 of instruction 1 differs from register operand 2 of instruction 2",
    )
    assert found.dependencies == (
        "instruction 2 reads a flag that instruction 1 writes",
        "instruction 1 reads a register that instruction 2 writes",
    )


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            {"instruction": 1, "feature": "mnemonic", "to": {"base": "add", "edits": 1}},
            "instruction 1: mnemonic within 1 edit of `add`",
        ),
        ({"instruction": 2, "feature": "category"}, "instruction 2: any category"),
        ({"instruction": 2, "feature": "lock"}, "instruction 2: with or without a `lock` prefix"),
        (
            {"instruction": 1, "feature": "operands", "drop": "cf:W", "to": []},
            "instruction 1 need not write the flag cf",
        ),
        (
            {"instruction": 1, "feature": "operands", "drop": "0x0", "to": []},
            "instruction 1 need not have an operand `0x0`",
        ),
        (
            {"instruction": 1, "feature": "memory", "drop": "size:64", "to": ["R"]},
            "instruction 1 need not access 64 bits of memory",
        ),
        (
            {
                "instruction": 2,
                "feature": "memory",
                "drop": "size:8",
                "for": "size<=64",
                "to": ["W", "size<=64"],
            },
            "instruction 2 need not access 8 bits of memory, but must access at most 64 bits of memory",
        ),
        (
            {
                "instruction": 1,
                "feature": "operands",
                "drop": "cf:R",
                "for": "flags:R",
                "to": ["flags:R"],
            },
            "instruction 1 need not read the flag cf, but must read some flag",
        ),
        (
            {
                "instruction": 1,
                "feature": "operands",
                "drop": "cf:RW",
                "for": "cf:R & cf:W",
                "to": ["cf:R", "cf:W"],
            },
            "instruction 1 need not read and write the flag cf, "
            "but must read the flag cf and write the flag cf",
        ),
        (
            {"instruction": 1, "feature": "operands", "drop": "MEM[<=64]:W", "to": []},
            "instruction 1 need not have an operand `MEM:W` of at most 64 bits",
        ),
        (
            {"aliasing": ["1.memory.1", "2.memory.1"]},
            "memory operand of instruction 1 and memory operand of instruction 2 may be the same or differ",
        ),
        (
            {"dependency": [1, 2, "flag"]},
            "instruction 2 need not read a flag that instruction 1 writes",
        ),
        (
            {"dependency": [3, 2, "register"]},
            "instruction 2 need not read a register that instruction 3 writes",
        ),
    ],
)
def test_words_say_what_an_expansion_allows(document: Any, expected: str) -> None:
    assert expansion_wording(document) == expected


@pytest.mark.parametrize(
    ("wrong", "wanted"),
    [
        ([], "a list of 1 to 100"),
        ({"instructions": []}, "a list of 1 to 100"),
        ({"instructions": [3]}, "instruction 1 is an object of features"),
        ({"instructions": [{"colour": "red"}]}, "no feature 'colour' here, only mnemonic"),
        ({"instructions": [{}, {"lock": 3}]}, "instruction 2, lock: a word"),
        ({"instructions": [{}], "aliasing": {}}, '"aliasing" is a list'),
        ({"instructions": [{}], "aliasing": [["1.register.1", "same"]]}, '"aliasing" has lists such as'),
        ({"instructions": [{}], "aliasing": [["1.register.1", "1.reg.2", "same"]]}, "like 1.register.2"),
        ({"instructions": [{}], "aliasing": [["1.register.1", "2.register.1", "same"]]}, "beyond the last"),
        ({"instructions": [{}], "aliasing": [["1.register.1", "1.register.1", "same"]]}, "named twice"),
        (
            {
                "instructions": [{}],
                "aliasing": [
                    ["1.register.1", "1.register.2", "same"],
                    ["1.register.2", "1.register.1", "different"],
                ],
            },
            "cannot be both",
        ),
        ({"instructions": [{}], "dependencies": {}}, '"dependencies" is a list'),
        ({"instructions": [{}], "dependencies": [[1, 1]]}, "a dependency is a list such as"),
        ({"instructions": [{}], "dependencies": [[1, 1, "memory"]]}, "a dependency is a list such as"),
        ({"instructions": [{}], "dependencies": [["1", 1, "flag"]]}, "a dependency is a list such as"),
        ({"instructions": [{}], "dependencies": [[1, 2, "flag"]]}, "between two instructions, 1 to 1"),
        ({"instructions": [{}], "dependencies": [[1, 1, "flag"]]}, "between two instructions, 1 to 1"),
    ],
)  # fmt: skip
def test_a_wrong_document_is_refused_with_where_and_what(wrong: Any, wanted: str) -> None:
    with pytest.raises(AnicaError, match=wanted):
        DOMAIN.read(wrong)


@pytest.mark.parametrize("word", ["size:", "size:x", "size<=", "foo", "MEM[<=]:W", "flags:X"])
def test_words_of_others_that_say_nothing_here_are_shown_as_they_are(word: str) -> None:
    said = block_wording({"instructions": [{"memory": [word], "operands": [word]}]}).instructions[0]
    assert said == ("accesses memory", f"operand `{word}`")
    step = {"instruction": 1, "feature": "memory", "drop": word, "to": []}
    assert expansion_wording(step) == f"instruction 1 need not access `{word}` of memory"


@pytest.mark.parametrize(
    "wrong",
    [
        {"instruction": 1, "feature": "memory", "for": "size<=64", "to": ["size<=64"]},
        {"instruction": 1, "feature": "memory", "drop": "size:8", "for": None, "to": []},
        {"instruction": 1, "feature": "memory", "drop": 3, "to": []},
    ],
)
def test_what_takes_the_place_of_nothing_is_refused(wrong: Any) -> None:
    with pytest.raises(AnicaError, match='"drop" is an element'):
        DOMAIN.read_expansion(wrong)


@pytest.mark.parametrize(
    "wrong",
    [{}, {"instruction": 0, "feature": "lock"}, {"aliasing": ["1.register.1"]}, {"instruction": 1}],
)
def test_a_wrong_expansion_is_refused(wrong: Any) -> None:
    with pytest.raises(AnicaError, match="an expansion has"):
        DOMAIN.read_expansion(wrong)


@examples(20)
@given(SEEDS)
def test_an_expansion_that_does_not_apply_is_refused(seed: int) -> None:
    random = Random(seed)
    abstract = DOMAIN.represent(random_block(DOMAIN, random))
    top = DOMAIN.unconstrained(len(abstract))
    for expansion in DOMAIN.expansions(abstract):
        with pytest.raises(ValueError, match="does not apply"):
            DOMAIN.expand(top, expansion)


def test_a_step_that_drops_what_its_start_does_not_say_changes_nothing() -> None:
    start: Any = {"instructions": [{}, {}]}
    assert documents.expanded_document(start, {"dependency": [1, 2, "flag"]}) == start
    dropped = documents.expanded_document(
        {**start, "dependencies": [[1, 2, "flag"]]}, {"dependency": [1, 2, "flag"]}
    )
    assert dropped == start

"""Instruction sets: made, updated in place, and recognised by the names in a file."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from inference.core.experiment import Experiment, Measured
from inference.isa import x86
from inference.isa.scheme import Operand
from inference.isa.targets import X86, target_of
from inference.models import ISA, ExperimentSet, InstructionScheme
from inference.storage.errors import NameInUseError
from inference.storage.instruction_sets import (
    NOT_IN_SOURCE,
    likely_isa,
    load_supplied,
    mnemonic_of,
    new_isa,
    store_isa,
    vocabulary,
)
from inference.storage.rows import scheme_ids, store_measurements
from tests.rows.toy import scheme


def test_a_scheme_keeps_its_row_when_its_facts_change(toy: ISA) -> None:
    before = scheme_ids(toy)
    operand = Operand("register", "R", "RW", 64)
    changed = scheme("add R, R", operands=(operand,), extension="NEW", exclusion="broken", starter=True)
    store_isa("toy", [changed, scheme("mul R, R"), scheme("nop"), scheme("div R")], "second edition")
    assert before.items() < scheme_ids(toy).items()
    row = InstructionScheme.objects.get(pk=before["add R, R"])
    assert (row.extension, row.exclusion, row.starter) == ("NEW", "broken", True)
    assert row.operands == [operand.as_json()]
    assert ISA.objects.get().source == "second edition"


def test_a_scheme_that_is_gone_stays_only_where_something_refers_to_it(
    toy: ISA, empty_set: ExperimentSet
) -> None:
    store_measurements(empty_set, [Measured(Experiment.of(["mul R, R"]), 1.0)])
    store_isa("toy", [scheme("add R, R")], "second edition")
    assert dict(toy.schemes.values_list("text", "exclusion")) == {"add R, R": "", "mul R, R": NOT_IN_SOURCE}


def test_the_vocabulary_follows_the_schemes(toy: ISA) -> None:
    assert vocabulary(toy).resolve("div R") is None
    store_isa("toy", [scheme("div R"), scheme("add R, R")], "second edition")
    assert vocabulary(toy).resolve("div R") == "div R"
    assert vocabulary(toy).resolve("mul R, R") is None


def test_x86_is_brought_up_to_date_when_its_source_has_changed_and_only_then(
    db: None, django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    older = store_isa(X86, [scheme("add GPR[64]:RW, GPR[64]:R", category="wrong")], "an older release")
    said = StringIO()
    call_command("load-isa", stdout=said)
    assert (
        said.getvalue()
        == f"x86-64: {len(x86.schemes())} schemes loaded ({target_of(X86).schemes.source()})\n"
    )
    assert set(scheme_ids(older)) == {each.text for each in x86.schemes()}
    assert not older.schemes.filter(category="wrong").exists()
    with django_assert_max_num_queries(1):
        assert load_supplied(X86) == (older, False)


def test_a_new_instruction_set_has_the_texts_of_a_file_and_their_mnemonics(db: None) -> None:
    isa = new_isa("A72", ["_add_((REG:W:G:64)),_((IMM:12))", "fadd V.2d, V.2d"], "a file")
    assert list(isa.schemes.values_list("mnemonic", flat=True)) == ["add", "fadd"]
    with pytest.raises(NameInUseError, match="another ISA is named 'A72'"):
        new_isa("A72", ["nop"], "another file")


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL gets to know its tables by itself")
def test_a_few_schemes_are_looked_up_by_name_not_by_reading_all_of_their_set(db: None) -> None:
    isa = new_isa("large", [f"scheme {number}" for number in range(500)], "a test")
    named = InstructionScheme.objects.filter(isa=isa, text__in=[f"scheme {number}" for number in range(12)])
    assert "(isa_id=? AND text=?)" in named.values_list("text", "id").explain()


@pytest.mark.parametrize(
    ("text", "mnemonic"),
    [("ADD_((REG:RW:G:64))", "add"), ("_abs_((REG", "abs"), ("add R", "add"), ("nop", "nop"), ("__", "__")],
)
def test_the_leading_word_of_a_text_is_its_mnemonic(text: str, mnemonic: str) -> None:
    assert mnemonic_of(text) == mnemonic


def test_the_likely_instruction_set_is_the_one_that_knows_most_names(toy: ISA) -> None:
    other = new_isa("other", ["add R, R", "div R"], "")
    assert likely_isa(["add R, R", "mul R, R"], {}) == toy
    assert likely_isa(["add R, R", "div R"], {}) == other
    assert likely_isa(["add R, R", "mul R, R"], {"isa": "other"}) == other
    assert likely_isa(["add R, R", "mul R, R"], {"isa": "no such"}) == toy
    assert likely_isa(["what"], {}) is None
    assert ISA.objects.filter(name=X86).count() == 0

"""Default names of runs and of their results."""

from __future__ import annotations

from typing import Any

import pytest

from inference.isa.blocks import blocks_name
from inference.models import ISA, InstructionScheme, Machine
from inference.storage.names import NAME_LIMIT, processor_name, result_name, selection_name

ZEN4 = {"vendor": "AuthenticAMD", "family": 25, "model": 97}


def machine(
    isa: ISA, name: str, facts: dict[str, Any] | None = None, cpu: str = "", kind: str = "agent"
) -> Machine:
    return Machine.objects.create(name=name, isa=isa, facts=facts or {}, cpu=cpu, kind=kind)


def test_long_parts_are_shortened_and_short_ones_stay():
    name = result_name("Zen 4", "a" * 300, "PMEvo")
    assert len(name) < NAME_LIMIT
    assert name.startswith("Zen 4 · aaa")
    assert name.endswith("a… · PMEvo")
    assert len(result_name("a" * 300, "b" * 300)) < NAME_LIMIT
    assert len(result_name(*("part" * 3 for _ in range(40)))) < NAME_LIMIT
    assert result_name() == ""


@pytest.mark.django_db
def test_a_processor_is_named_by_its_core_its_product_or_its_machine(default_x86: ISA):
    core = machine(default_x86, "lab", ZEN4, "AMD Ryzen 9 7950X 16-Core Processor")
    assert processor_name(core) == processor_name(core.pk) == "Zen 4"
    product = machine(default_x86, "old", cpu="Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz")
    assert processor_name(product) == "Intel Xeon Gold 6338"
    assert processor_name(machine(default_x86, "unknown")) == "unknown"
    simulated = machine(default_x86, "toy", ZEN4 | {"mapping": {}}, kind="simulated")
    assert processor_name(simulated) == "toy"
    assert processor_name(core) == "Zen 4", "a simulated processor is no second computer"


@pytest.mark.django_db
def test_computers_with_the_same_core_are_told_apart(default_x86: ISA):
    first = machine(default_x86, "lab", ZEN4)
    second = machine(default_x86, "Zen 4 desktop", ZEN4)
    assert [processor_name(row) for row in (first, second)] == ["Zen 4 (lab)", "Zen 4 desktop"]


@pytest.mark.django_db
def test_selections_are_named_by_word_search_schemes_or_number(default_x86: ISA):
    texts = ["add GPR[64]:RW, GPR[64]:R", "nop", "ret"]
    rows = [InstructionScheme.objects.create(isa=default_x86, text=f"{text} test") for text in texts]
    ids = [row.pk for row in rows]
    assert selection_name("starter") == "starter set"
    assert selection_name("default", sample=50) == "50 of default set"
    assert selection_name(ids, "is:mmx") == "is:mmx"
    assert selection_name(ids, "starter") == "starter set"
    assert selection_name(ids[:1]) == "add GPR[64]:RW, GPR[64]:R test"
    assert selection_name(ids) == "3 schemes"


def test_blocks_are_named_by_their_first_instructions():
    assert blocks_name(["4801d8"], "x86-64") == "add rax, rbx"
    assert blocks_name(["4801d8", "90"], "x86-64") == "2 blocks from add rax, rbx"
    assert blocks_name(["ff"], "x86-64") == "ff", "undecodable"
    assert len(blocks_name(["4801d8" * 40], "x86-64")) < 100

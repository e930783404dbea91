"""`doubts` as scripts use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from inference.core.mapping import PortMapping as Value
from inference.models import ExperimentSet, Machine, PortMapping
from inference.storage.mappings import store_mapping
from tests.doors import printed
from tests.explained import BSF, IMUL, PORTS, TRUTH, explained_mapping, toy_isa

OTHER = Value(PORTS, {**TRUTH.usage, IMUL: ((0b1000, 1),)}, 5.0)


def manage(*arguments: object) -> str:
    return printed("doubts", *(str(argument) for argument in arguments))


@pytest.fixture
def row(db: None) -> PortMapping:
    isa = toy_isa()
    store_mapping("other", isa, OTHER, origin=PortMapping.Origin.IMPORT)
    return explained_mapping(isa)


def test_doubts_are_counted_listed_and_written(row: PortMapping, tmp_path: Path):
    out = manage("found", "--against", "other", "--csv", tmp_path / "doubts.csv")
    assert "excluded: 2" in out
    assert "in conflict: 1" in out
    assert "1.48 µops beside imul" in out
    assert BSF in (tmp_path / "doubts.csv").read_text()


def test_one_scheme_is_told_with_its_experiments(row: PortMapping):
    told = json.loads(manage("found", "--against", "other", "--scheme", IMUL, "--kind", "conflict", "--json"))
    (doubt,) = told["doubts"]
    assert doubt["uops"] == "1×[1]"
    assert doubt["others"] == ["1×[3]"]
    assert IMUL in doubt["decides"]
    assert doubt["again"][0] == IMUL
    judged = printed("judge", "mapping:found", "--view", "doubts", "--against", "mapping:other", "--json")
    assert judged == manage("found", "--against", "other", "--json")
    assert "decided by " in manage("found", "--against", "other", "--scheme", IMUL)


def test_what_is_missing_is_said(row: PortMapping):
    with pytest.raises(CommandError, match="nowhere"):
        manage("nowhere")
    ExperimentSet.objects.create(name="unused", isa=row.isa, origin="upload")
    with pytest.raises(CommandError, match="has not been evaluated on 'unused'"):
        manage("found", "--dataset", "unused")


def test_the_usual_mapping_is_compared_with_unless_told_otherwise(row: PortMapping):
    lab = Machine.objects.create(name="lab", isa=row.isa, kind=Machine.Kind.PUBLISHED)
    PortMapping.objects.update(machine=lab)
    assert "in conflict: 1" in manage("found")
    assert "in conflict" not in manage("found", "--against", "none")
    with pytest.raises(CommandError, match=r"over: .* right would be at most"):
        manage("found", "--over", "20000")

"""Migrations keep what is in the database: on files of their own, migrated no farther than it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from inference.models import SchemeLatencies
from tests.runs.fixtures import opened
from tests.upgrade.make import restore

BEFORE = [("inference", "0002_machines_with_agents")]
AFTER = [("inference", "0003_resource_mappings")]


@pytest.fixture
def open_file(on_sqlite: bool, tmp_path: Path, django_db_blocker) -> Iterator[Callable[[Path], None]]:  # type: ignore[no-untyped-def]
    """Makes a copy of a file the database of this process."""
    if not on_sqlite:
        pytest.skip("what is migrated here does not depend on the kind of database")
    (tmp_path / "home").mkdir()
    with ExitStack() as stack:
        yield lambda file: stack.enter_context(opened(file, tmp_path / "home", django_db_blocker)) and None


def test_evaluations_from_before_resource_mappings_are_kept(
    open_file: Callable[[Path], None], tmp_path: Path
) -> None:
    empty = tmp_path / "empty.sqlite3"
    empty.touch()
    open_file(empty)
    executor = MigrationExecutor(connection)
    executor.migrate(BEFORE)
    old = executor.loader.project_state(BEFORE).apps
    isa = old.get_model("inference", "ISA").objects.create(name="toy")
    judge = old.get_model("inference", "ExperimentSet").objects.create(name="s", isa=isa, origin="upload")
    mapping = old.get_model("inference", "PortMapping").objects.create(
        name="m", isa=isa, origin="import", ports=["0"]
    )
    made = old.get_model("inference", "Evaluation").objects.create(
        mapping=mapping, experiment_set=judge, unit="ipc", n=7, mape=9.5, heat_map={"bins": 3}
    )
    executor.loader.build_graph()
    executor.migrate(AFTER)
    new = executor.loader.project_state(AFTER).apps.get_model("inference", "Evaluation")
    kept = new.objects.get(pk=made.pk)
    assert (kept.mapping_id, kept.experiment_set_id, kept.unit) == (mapping.pk, judge.pk, "ipc")
    assert (kept.n, kept.mape, kept.heat_map, kept.resource_mapping) == (7, 9.5, {"bins": 3}, None)


CHAINED = {"source": "2", "destination": "1", "least": 1.0, "most": 1.0, "chains": [{"code": "4801d8"}]}
BOUND = {"source": "3", "destination": "1", "at_most": 4.0, "chains": []}


def test_chains_of_latencies_are_parted_from_the_pairs_and_joined_again(
    open_file: Callable[[Path], None], tmp_path: Path
) -> None:
    restore("0.7.0", tmp_path / "old.sqlite3")
    open_file(tmp_path / "old.sqlite3")
    whole, parted = [("inference", "0023_latency_isolated_index")], [("inference", "0024_latency_chains")]
    executor = MigrationExecutor(connection)
    executor.migrate(whole)
    old = executor.loader.project_state(whole).apps
    isa = old.get_model("inference", "ISA").objects.create(name="an instruction set")
    machine = old.get_model("inference", "Machine").objects.create(name="m", kind="agent", isa=isa)
    row = old.get_model("inference", "LatencySet").objects.create(name="s", isa=isa, machine=machine)
    scheme = old.get_model("inference", "InstructionScheme").objects.create(isa=isa, text="a")
    rows = old.get_model("inference", "SchemeLatencies").objects
    made = rows.create(latency_set=row, scheme=scheme, pairs=[CHAINED, BOUND], isolated=1)
    executor.loader.build_graph()
    executor.migrate(parted)
    found = SchemeLatencies.objects.get(pk=made.pk)
    assert found.chains == [CHAINED["chains"], []]
    assert found.pairs_with_chains() == [CHAINED, BOUND]
    assert not any("chains" in pair for pair in found.pairs)
    executor.loader.build_graph()
    executor.migrate(whole)
    assert rows.get(pk=made.pk).pairs == [CHAINED, BOUND]

"""Migrations keep what is in the database."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from inference.models import SchemeLatencies

BEFORE = [("inference", "0002_machines_with_agents")]
AFTER = [("inference", "0003_resource_mappings")]


@pytest.mark.django_db(transaction=True)
def test_evaluations_from_before_resource_mappings_are_kept() -> None:
    executor = MigrationExecutor(connection)
    try:
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
    finally:
        last = MigrationExecutor(connection)
        last.migrate(last.loader.graph.leaf_nodes())


CHAINED = {"source": "2", "destination": "1", "least": 1.0, "most": 1.0, "chains": [{"code": "4801d8"}]}
BOUND = {"source": "3", "destination": "1", "at_most": 4.0, "chains": []}


@pytest.mark.django_db(transaction=True)
def test_chains_of_latencies_are_parted_from_the_pairs_and_joined_again() -> None:
    whole, parted = [("inference", "0023_latency_isolated_index")], [("inference", "0024_latency_chains")]
    executor = MigrationExecutor(connection)
    try:
        executor.migrate(whole)
        old = executor.loader.project_state(whole).apps
        isa = old.get_model("inference", "ISA").objects.create(name="toy")
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
    finally:
        last = MigrationExecutor(connection)
        last.migrate(last.loader.graph.leaf_nodes())

"""A scheduler's policy is judged on blocks with dependences, where a machine can measure them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count

import pytest
from django.test import Client
from django.urls import reverse

from inference.agent.protocol import Batch, Beat, Result
from inference.core.core_model.scheduler_experiments import MAX_BLOCKS, dependent_blocks
from inference.core.pacing import PacedReporter
from inference.features.learning.core_model.storing import store_document
from inference.features.learning.scheduler import job
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.formats.scheduler_json import SchedulerRecord
from inference.isa.blocks import accesses_of, block_of_bytes
from inference.isa.targets import X86
from inference.isa.x86.scheme_set import scheme_and_form
from inference.models import Machine, Run, StoredCoreModel
from inference.runs import lifecycle
from inference.storage.instruction_sets import store_isa
from tests.core.core_model.test_scheduler_inference import CORE, KINDS, MODEL, PORTS
from tests.rows.library import visitor
from tests.runs.agents import Boards, attempt, do, impatient, put_agent

__all__ = ["visitor"]

SEED, ROUNDS = 1, 3
FLAGS = ["avx", "bmi1", "bmi2"]


class Executing:
    """A harness on `CORE`, which executes the code that it gets."""

    async def measure(self, batch: Batch, progress: Callable[[int, int], None]) -> list[Result]:
        results = [
            Result(item.id, "settled", self.cycles(item.code) / item.copies, 0.0, 2) for item in batch.items
        ]
        progress(len(results), len(results))
        return results

    @staticmethod
    def cycles(code: bytes) -> float:
        return CORE.cycles_of(accesses_of(block_of_bytes(code), equal_start=True))

    def beat(self) -> Beat:
        return Beat("idle")

    async def close(self) -> None:
        """Nothing runs."""


@pytest.fixture
def row(db: None) -> StoredCoreModel:
    schemes = [scheme[0] for text in PORTS.usage if (scheme := scheme_and_form(text)) is not None]
    store_isa("x86-64", schemes, "a test")
    document = core_model_json(MODEL, name="lab", isa="x86-64")
    return store_document(read_core_model(json.dumps(document)), "lab")


def machine_of(row: StoredCoreModel, **facts: object) -> Machine:
    return Machine.objects.create(
        name="box", kind="agent", isa=row.isa, facts={"flags": FLAGS, "version": "0.9.0", **facts}
    )


@pytest.fixture
def boards(monkeypatch: pytest.MonkeyPatch) -> Boards:
    """An agent. Each look at the clock is a twentieth of a second: a search tries some forty policies."""
    monkeypatch.setattr(job, "PacedReporter", partial(PacedReporter, clock=count(step=0.05).__next__))
    return put_agent(monkeypatch, Executing())


def config(row: StoredCoreModel, machine: Machine) -> dict[str, int]:
    return {"core_model": row.pk, "machine": machine.pk, "seconds": 5, "seed": SEED}


def record_of(row: StoredCoreModel) -> SchedulerRecord:
    row.refresh_from_db()
    return SchedulerRecord.model_validate(row.scheduler)


def test_blocks_are_measured_in_loops_and_kept_with_what_they_say(
    visitor: Client, row: StoredCoreModel, boards: Boards
) -> None:
    run = do("scheduler", config(row, machine_of(row, blocks=True)))
    assert run.state == Run.State.DONE, run.error
    record = record_of(row)
    drawn = dependent_blocks(X86, MODEL, KINDS, SEED)
    assert [block.block for block in record.blocks] == [block.hex for block in drawn]
    assert len(drawn) == MAX_BLOCKS
    first, block = record.blocks[0], drawn[0]
    assert first.measured == pytest.approx(Executing.cycles(block.code), rel=0.1)
    assert Counter(block.judges for block in record.blocks) == {
        True: MAX_BLOCKS // 2,
        False: MAX_BLOCKS // 2,
    }
    assert record.code is not None
    assert record.code.error_without > 0.1
    assert record.unjudged == ""
    in_loops = [item for board in boards.opened for batch in board.posted for item in batch.items]
    beside_moves = len(PORTS.usage) - 1  # of each other scheme the slots are counted, among moves
    assert len(in_loops) == len(record.experiments) + ROUNDS * MAX_BLOCKS + beside_moves
    assert not any(batch.frame.unrolled for board in boards.opened for batch in board.posted)
    page = visitor.get(reverse("core-model", args=[row.pk])).text
    assert "Block with dependences" in page
    assert page.count("chooses</td>") + page.count("judges</td>") == 24
    answer = visitor.get(f"/api/v1/core-models/{row.pk}/scheduler").json()
    assert answer["blocks"][0]["block"] == block.hex
    assert answer["code"]["overstated"] == record.code.overstated


def test_a_run_that_was_stopped_goes_on(row: StoredCoreModel, boards: Boards) -> None:
    run = lifecycle.submit("scheduler", config(row, machine_of(row, blocks=True)), "a run")
    attempt(run, impatient(0))
    assert run.state == "queued"
    attempt(run)
    assert run.state == "done", run.error
    assert len(record_of(row).blocks) == MAX_BLOCKS


def test_an_agent_that_measures_no_blocks_leaves_a_policy_unjudged(
    visitor: Client, row: StoredCoreModel, boards: Boards
) -> None:
    run = do("scheduler", config(row, machine_of(row)))
    assert run.state == Run.State.DONE, run.error
    record = record_of(row)
    assert (record.blocks, record.code) == ([], None)
    assert record.unjudged == "the agent of box is too old for basic blocks"
    assert record.scheduler is not None, record.reason
    page = visitor.get(reverse("core-model", args=[row.pk])).text
    assert f"It was not judged on code with dependences: {record.unjudged}." in page

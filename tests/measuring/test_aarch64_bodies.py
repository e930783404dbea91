"""What is posted for an AArch64 machine."""

from __future__ import annotations

import pytest

from inference.agent.protocol import Batch, Settings
from inference.core.experiment import Experiment, MeasurementState, OrderedExperiment
from inference.core.mapping import PortMapping
from inference.isa import llvm_mc
from inference.isa.aarch64.assembling import BODIES
from inference.isa.machine_bodies import DEFAULTS
from inference.measuring.remote import RemoteMeasurer
from inference.measuring.simulated_agent import SimulatedHarness
from tests.measuring.boards import MemoryBoard

pytestmark = pytest.mark.skipif(llvm_mc.program() is None, reason="llvm-mc is not installed")

ADD = "add GPR[64]:W, GPR[64]:R, GPR[64]:R"
MUL = "mul GPR[64]:W, GPR[64]:R, GPR[64]:R"
AES = "aese VEC[16B]:RW, VEC[16B]:R"
DIVIDE = "sdiv GPR[64]:W, GPR[64]:R, GPR[64]:R"
MAPPING = PortMapping(("0", "1", "M"), {ADD: ((3, 1),), MUL: ((4, 1),)})


class Kept(MemoryBoard):
    """A board that keeps what was posted."""

    def __init__(self) -> None:
        super().__init__(SimulatedHarness(MAPPING))
        self.batches: list[Batch] = []

    def post(self, batch: Batch) -> int:
        self.batches.append(batch)
        return super().post(batch)


def measurer(board: MemoryBoard, *flags: str) -> RemoteMeasurer:
    bodies = BODIES.machine_bodies((), frozenset(flags), DEFAULTS)
    return RemoteMeasurer(
        board, {}, None, Settings(), False,
        assemble=bodies.unroll, assemble_in_order=bodies.unroll_in_order, surroundings=bodies,
    )  # fmt: skip


def test_a_batch_is_assembled_in_one_call_and_has_the_frame_of_the_instruction_set(
    monkeypatch: pytest.MonkeyPatch,
):
    calls = []
    true = llvm_mc.assemble
    BODIES.machine_bodies((), frozenset(), DEFAULTS).unroll(
        [(ADD, 1)]
    )  # llvm-mc has been asked what it knows

    def counted(lines, *arguments):
        calls.append(len(lines))
        return true(lines, *arguments)

    monkeypatch.setattr(llvm_mc, "assemble", counted)
    board = Kept()
    asked = [Experiment.of({ADD: k, MUL: 1}) for k in range(1, 13)]
    asked.append(OrderedExperiment.in_order((MUL, ADD, ADD)))
    results = list(measurer(board).measure(asked))
    assert [result.cycles for result in results[:4]] == [1.0, 1.0, 1.5, 2.0]
    assert len(calls) == len(board.batches) == 1
    batch = board.batches[0]
    assert batch.frame.isa == "AArch64"
    assert Batch.read(batch.as_json()) == batch
    assert all(len(item.code) % 4 == 0 and item.half_bytes < len(item.code) for item in batch.items)


def test_what_the_processor_lacks_is_told_before_anything_is_posted():
    assert measurer(Kept(), "fp", "asimd").obstacle(AES) == "this CPU lacks AES"
    assert measurer(Kept(), "fp", "asimd", "aes").obstacle(AES) == ""
    (result,) = measurer(Kept()).measure([Experiment.of([DIVIDE])])
    assert result.state is MeasurementState.FAILED
    assert "depends on the values" in result.note

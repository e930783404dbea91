from __future__ import annotations

import os
import threading

import pytest

from inference.core.pacing import Executor, LocalExecutor, PacedReporter, TaskContext
from tests.core.executors import WorkshopContract
from tests.core.pmevo.small import Listener


@pytest.fixture(params=[1, 2, 8])
def executor(request: pytest.FixtureRequest) -> Executor:
    return LocalExecutor(request.param)


class TestLocalWorkshop(WorkshopContract):
    """With any number of threads."""


@pytest.mark.parametrize(
    ("threads", "pieces", "each"), [(8, 2, 4), (8, 3, 2), (2, 8, 1), (1, 3, 1), (4, 1, 4)]
)
def test_threads_are_shared_out_among_the_pieces(threads: int, pieces: int, each: int) -> None:
    def told(common: bytes, piece: bytes, context: TaskContext) -> bytes:
        return str(context.threads).encode()

    answers = LocalExecutor(threads).carry_out(told, b"", [b""] * pieces, PacedReporter(Listener()))
    assert answers == [str(each).encode()] * pieces


def test_pieces_are_worked_on_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=60)

    def meet(common: bytes, piece: bytes, context: TaskContext) -> bytes:
        meeting.wait()
        return piece

    assert LocalExecutor(2).carry_out(meet, b"", [b"x", b"y"], PacedReporter(Listener())) == [b"x", b"y"]


def test_without_a_number_there_is_a_thread_for_each_processor() -> None:
    def told(common: bytes, piece: bytes, context: TaskContext) -> bytes:
        return str(context.threads).encode()

    assert LocalExecutor().carry_out(told, b"", [b""], PacedReporter(Listener())) == [
        str(len(os.sched_getaffinity(0))).encode()
    ]

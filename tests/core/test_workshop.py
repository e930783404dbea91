from __future__ import annotations

import os
import threading

import pytest

from inference.core.events import Pace
from inference.core.workshop import Bench, LocalWorkshop, Workshop
from tests.core.pmevo.small import Listener
from tests.core.workshops import WorkshopContract


@pytest.fixture(params=[1, 2, 8])
def workshop(request: pytest.FixtureRequest) -> Workshop:
    return LocalWorkshop(request.param)


class TestLocalWorkshop(WorkshopContract):
    """With any number of threads."""


@pytest.mark.parametrize(
    ("threads", "pieces", "each"), [(8, 2, 4), (8, 3, 2), (2, 8, 1), (1, 3, 1), (4, 1, 4)]
)
def test_threads_are_shared_out_among_the_pieces(threads: int, pieces: int, each: int) -> None:
    def told(common: bytes, piece: bytes, bench: Bench) -> bytes:
        return str(bench.threads).encode()

    answers = LocalWorkshop(threads).carry_out(told, b"", [b""] * pieces, Pace(Listener()))
    assert answers == [str(each).encode()] * pieces


def test_pieces_are_worked_on_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=30)

    def meet(common: bytes, piece: bytes, bench: Bench) -> bytes:
        meeting.wait()
        return piece

    assert LocalWorkshop(2).carry_out(meet, b"", [b"x", b"y"], Pace(Listener())) == [b"x", b"y"]


def test_without_a_number_there_is_a_thread_for_each_processor() -> None:
    def told(common: bytes, piece: bytes, bench: Bench) -> bytes:
        return str(bench.threads).encode()

    assert LocalWorkshop().carry_out(told, b"", [b""], Pace(Listener())) == [
        str(len(os.sched_getaffinity(0))).encode()
    ]

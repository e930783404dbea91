"""Dask workers in processes of their own, as on other computers."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from distributed import Future, LocalCluster

import inference
from inference.cluster import connection as connecting
from inference.cluster.connection import ClusterError, SchedulerConnection, condition
from inference.cluster.executor import DaskExecutor
from inference.core.errors import InterruptedRunError
from inference.core.pacing import LocalExecutor, PacedReporter, Task, TaskContext
from tests.core.executors import WorkshopContract, die_once, join, wait_for_withdrawal, wait_until_there
from tests.core.pmevo.islanders import evolved
from tests.core.pmevo.small import Listener

NOWHERE = "tcp://127.0.0.1:9"


class NotHere:
    """A spare executor that must not be needed."""

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        raise AssertionError("this was to be done by a worker")


def cluster_of(workers: int) -> LocalCluster:
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )


@pytest.fixture(scope="module")
def two_workers() -> Iterator[str]:
    with cluster_of(2) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def executor(two_workers: str) -> Iterator[DaskExecutor]:
    executor = DaskExecutor(two_workers, NotHere())
    yield executor
    executor.close()


def warnings(listener: Listener) -> list[str]:
    told = [event.payload() for event in listener.events if event.kind == "log"]
    return [log["text"] for log in told if log["level"] == "warning"]


class TestTwoWorkers(WorkshopContract):
    @pytest.fixture
    def executor(self, two_workers: str) -> Iterator[DaskExecutor]:
        executor = DaskExecutor(two_workers, LocalExecutor(1))
        yield executor
        executor.close()


def test_islands_evolve_alike_on_workers_and_here(executor: DaskExecutor) -> None:
    assert evolved(executor) == evolved(LocalExecutor(1))


def test_one_worker_finds_what_two_find() -> None:
    with cluster_of(1) as cluster:
        executor = DaskExecutor(cluster.scheduler_address, NotHere())
        assert evolved(executor) == evolved(LocalExecutor(2))
        executor.close()


def test_a_worker_that_dies_changes_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "died"
    with cluster_of(2) as cluster:  # its own: until Dask has replaced the worker, there is one less
        executor = DaskExecutor(cluster.scheduler_address, NotHere())
        pieces = [b"1", b"2", b"3", b"4"]
        assert executor.carry_out(die_once, str(mark).encode(), pieces, PacedReporter(Listener())) == pieces
        assert mark.exists()
        for _ in range(5):
            assert executor.carry_out(join, b"", pieces, PacedReporter(Listener())) == pieces
        executor.close()


def test_a_scheduler_that_is_away_costs_a_warning_and_is_not_asked_again_at_once() -> None:
    listener = Listener()
    executor = DaskExecutor(NOWHERE, LocalExecutor(1))
    assert evolved(executor, listener) == evolved(LocalExecutor(1))
    assert len(warnings(listener)) == 1
    assert "no Dask scheduler can be reached at tcp://127.0.0.1:9" in warnings(listener)[0]
    assert "this computer computes alone" in warnings(listener)[0]


def test_while_a_scheduler_is_looked_for_the_run_can_be_stopped() -> None:
    executor = DaskExecutor(NOWHERE, NotHere())
    with pytest.raises(InterruptedRunError):
        executor.carry_out(join, b"", [b""], PacedReporter(Listener(lambda _: True)))
    executor.close()


def test_a_connection_that_comes_after_the_run_was_stopped_is_closed(
    two_workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped, closed = threading.Event(), threading.Event()

    class Late(SchedulerConnection):
        def __init__(self, address: str) -> None:
            super().__init__(address)
            assert stopped.wait(60)

        def close(self) -> None:
            super().close()
            if not self.alive():
                closed.set()

    monkeypatch.setattr("inference.cluster.executor.SchedulerConnection", Late)
    executor = DaskExecutor(two_workers, NotHere())
    with pytest.raises(InterruptedRunError):
        executor.carry_out(join, b"", [b""], PacedReporter(Listener(lambda _: True)))
    stopped.set()
    assert closed.wait(60)
    executor.close()


def test_an_answer_that_its_worker_does_not_hand_over_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    halted: list[int] = []

    class Halting(SchedulerConnection):
        """Halts the worker between its having finished and the transfer."""

        def answer(self, future: Future[bytes]) -> bytes | None:
            monkeypatch.setattr(connecting, "ANSWER_SECONDS", 0.5)
            halted.extend(self._client.run(os.getpid).values())
            os.kill(halted[0], signal.SIGSTOP)
            return super().answer(future)

    monkeypatch.setattr("inference.cluster.executor.SchedulerConnection", Halting)
    with cluster_of(1) as cluster:
        listener = Listener()
        executor = DaskExecutor(cluster.scheduler_address, Answering(b"from here"))
        try:
            assert executor.carry_out(join, b"a", [b"b"], PacedReporter(listener)) == [b"from here"]
        finally:
            for worker in halted:
                os.kill(worker, signal.SIGCONT)
        assert "does not answer" in warnings(listener)[0]
        executor.close()


def test_an_answer_that_was_withdrawn_is_none(two_workers: str) -> None:
    connection = SchedulerConnection(two_workers)
    futures = connection.submit(join, b"a", [b"b"], connection.crew())
    assert connection.answer(futures[0]) == b"ab"
    connection.withdraw(futures)
    assert connection.answer(futures[0]) is None
    connection.close()


def test_what_a_scheduler_is_asked_after_it_has_gone_is_a_cluster_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with cluster_of(1) as cluster:
        connection = SchedulerConnection(cluster.scheduler_address)
        crew = connection.crew()
        future = connection.submit(join, b"a", [b"b"], crew)[0]
        assert connection.answer(future) == b"ab"
        assert connection.present(crew)
    monkeypatch.setattr(connecting, "ANSWER_SECONDS", 0.5)
    with pytest.raises(ClusterError):
        connection.present(crew)
    with pytest.raises(ClusterError):
        connection.answer(future)
    connection.close()


def test_a_scheduler_that_dies_in_the_middle_costs_a_warning(tmp_path: Path) -> None:
    cluster = cluster_of(1)
    listener = Listener()
    executor = DaskExecutor(cluster.scheduler_address, Answering(b"from here"))

    def end() -> None:
        wait_until_there(tmp_path / "started")
        cluster.close()

    killer = threading.Thread(target=end)
    killer.start()
    pieces = [str(tmp_path).encode()]
    assert executor.carry_out(wait_for_withdrawal, b"", pieces, PacedReporter(listener)) == [b"from here"]
    killer.join()
    assert len(warnings(listener)) == 1
    executor.close()


def test_workers_that_come_later_are_used_as_soon_as_they_are_there() -> None:
    with cluster_of(0) as cluster:
        listener = Listener()
        executor = DaskExecutor(cluster.scheduler_address, Answering(b"from here"))
        assert "has no workers" in condition(cluster.scheduler_address)
        assert executor.carry_out(join, b"a", [b"b"], PacedReporter(listener)) == [b"from here"]
        assert "has no worker that can be used" in warnings(listener)[0]
        cluster.scale(1)
        cluster.wait_for_workers(1)
        assert executor.carry_out(join, b"a", [b"b"], PacedReporter(listener)) == [b"ab"]
        executor.close()


class Answering:
    """A spare executor that knows the answer."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def carry_out(
        self, task: Task, common: bytes, pieces: Sequence[bytes], pace: PacedReporter
    ) -> list[bytes]:
        return [self.answer for _ in pieces]


def test_workers_of_another_version_are_refused(two_workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "__version__", "9.9.9")
    listener = Listener()
    executor = DaskExecutor(two_workers, LocalExecutor(1))
    assert executor.carry_out(join, b"a", [b"b"], PacedReporter(listener)) == [b"ab"]
    refused = [text for text in warnings(listener) if "has pmweb" in text]
    assert len(refused) == 2
    assert all("and this is 9.9.9" in text for text in refused)
    assert "and this is 9.9.9" in condition(two_workers)
    executor.close()


def test_the_condition_of_a_cluster_is_told_in_words(two_workers: str) -> None:
    assert "not configured" in condition("")
    assert f"connected with 2 workers of {two_workers}" in condition(two_workers)
    assert f"{NOWHERE} cannot be reached" in condition(NOWHERE)
    for address in ("nonsense://host", "no address"):
        assert f"{address} is not used" in condition(address)


def test_importing_the_cluster_does_not_load_dask() -> None:
    import subprocess
    import sys

    script = (
        "import sys, inference.cluster.executor, inference.cluster.connection; print('dask' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_bench_of_a_worker_has_one_thread(executor: DaskExecutor) -> None:
    assert executor.carry_out(threads_of, b"", [b""], PacedReporter(Listener())) == [b"1"]


def threads_of(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    return str(context.threads).encode()

"""Predictors that are asked on Dask workers in processes of their own, as on other computers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from inference.cluster.executor import DaskExecutor
from inference.core.errors import InterruptedRunError
from inference.core.pacing import LocalExecutor, PacedReporter
from inference.predictors import iaca
from inference.predictors.panel import DistributedPredictor, LocalPredictorExecutor
from inference.predictors.protocol import Answer, Predictor
from tests.core.pmevo.small import Listener
from tests.predictors import fakes

BLOCKS = [bytes.fromhex("4801d8") * n for n in range(1, 30)]


class Silent:
    """The predictor of a computer that must not be asked."""

    def __init__(self, like: Predictor) -> None:
        self.name, self.identity = like.name, like.identity

    def predict(self, blocks: object) -> list[Answer]:
        raise AssertionError("this was to be done by a worker")

    def close(self) -> None:
        """There is nothing to close."""


@pytest.fixture(scope="module", autouse=True)
def tools_anywhere() -> Iterator[None]:
    """Tools may lie where tests make them, here and on workers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PMWEB_TOOL_DIRECTORIES", tempfile.gettempdir())
        yield


@pytest.fixture(scope="module")
def two_workers(tools_anywhere: None) -> Iterator[str]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Predictor]:
    """IACA, as far as it matters here."""
    said = "Block Throughput: 1.50 Cycles       Throughput Bottleneck: Backend"
    program = fakes.tool(tmp_path / "iaca", said, said)
    made = iaca.make(iaca.IacaSettings(program=program))
    yield made
    made.close()


@pytest.fixture
def shared(
    two_workers: str, tool: Predictor, tmp_path: Path
) -> Iterator[Callable[..., DistributedPredictor]]:
    """The tool asked on the workers; `spare` answers for what they leave."""
    opened = []

    def made(
        spare: Predictor, listener: Listener | None = None, asked: Predictor = tool
    ) -> DistributedPredictor:
        executor = DaskExecutor(two_workers, LocalPredictorExecutor(spare))
        options = {"program": str(tmp_path / "iaca")}
        pace = PacedReporter(listener or Listener())
        opened.append(DistributedPredictor(asked, iaca.KIND, options, executor, pace, executor.close))
        return opened[-1]

    yield made
    for one in opened:
        one.close()


def test_workers_answer_what_the_tool_itself_says(
    shared: Callable[..., DistributedPredictor], tool: Predictor
) -> None:
    away = shared(Silent(tool))
    assert away.predict(BLOCKS) == tool.predict(BLOCKS) == [Answer(1.5)] * len(BLOCKS)
    assert (away.name, away.identity) == (tool.name, tool.identity)


def test_a_few_blocks_are_asked_here_at_once(
    shared: Callable[..., DistributedPredictor], tool: Predictor
) -> None:
    class Here(Silent):
        def predict(self, blocks: object) -> list[Answer]:
            return [Answer(7.0) for _ in blocks]

    assert shared(Silent(tool), asked=Here(tool)).predict(BLOCKS[:2]) == [Answer(7.0)] * 2


def test_a_worker_with_another_program_leaves_it_to_this_computer(
    shared: Callable[..., DistributedPredictor], tool: Predictor
) -> None:
    class Other(Silent):
        def predict(self, blocks: object) -> list[Answer]:
            return [Answer(7.0) for _ in blocks]

    listener = Listener()
    other = Other(tool)
    other.identity = {**tool.identity, "version": "of another day"}
    assert shared(other, listener, asked=other).predict(BLOCKS) == [Answer(7.0)] * len(BLOCKS)
    warnings = [event.payload()["text"] for event in listener.events if event.kind == "log"]
    assert any("is another one" in text and "its work is done here" in text for text in warnings), warnings


def test_a_run_that_is_stopped_waits_for_no_worker(
    shared: Callable[..., DistributedPredictor], tool: Predictor
) -> None:
    with pytest.raises(InterruptedRunError):
        shared(Silent(tool), Listener(lambda _: True)).predict(BLOCKS)


def test_without_a_cluster_threads_or_the_tool_itself_answer(tool: Predictor, tmp_path: Path) -> None:
    options = {"program": str(tmp_path / "iaca")}
    for executor in (LocalExecutor(2), LocalPredictorExecutor(tool)):
        away = DistributedPredictor(
            tool, iaca.KIND, options, executor, PacedReporter(Listener()), lambda: None
        )
        assert away.predict(BLOCKS) == [Answer(1.5)] * len(BLOCKS)

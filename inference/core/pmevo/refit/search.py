"""All chains of a re-fit in parallel, with events and pulse of their search."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from inference.core.events import Log, Progress
from inference.core.pmevo.events import FrontImproved, Sweep
from inference.core.pmevo.fitness import FitnessGate
from inference.core.pmevo.heartbeat import EMIT_INTERVAL
from inference.core.pmevo.refit.chain import Chain, Swept
from inference.core.pmevo.refit.chain_states import ChainState
from inference.core.pmevo.refit.front import RefitPoint, cheapest, sparse_front
from inference.core.pmevo.refit.search_arrays import SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.tables import Floats, Int64s

PHASE = "refit"
_NEWS = "refit pieces"
_BEAT = 0.05  # seconds to wait for results of the chains

Stream = Callable[..., np.random.Generator]


class Refit:
    """Chains on threads of their own, from `starts` or from `saved` states.

    The result does not depend on threads.

    Args:
        times: Cycles of every scheme alone, float64[n_schemes].
        members: Number of schemes that each stands for. `stream("chain", chain, sweep)`: a random stream of
            the search.
    """

    def __init__(
        self,
        judge: FitnessGate,
        times: Floats,
        members: Int64s,
        starts: Sequence[Usage],
        stream: Stream,
        saved: Sequence[ChainState] | None = None,
    ) -> None:
        self._judge = judge
        self._chains = [
            Chain(
                SearchArrays(judge.evaluator, judge.measured, times, members),
                start,
                judge.settings,
                _named_stream(stream, index),
            )
            for index, start in enumerate(starts)
        ]
        for chain, state in zip(self._chains, saved or (), strict=False):
            state.restore(chain)
        # States between two steps, so that reading them needs no lock on a chain.
        self._states = [ChainState.of(chain) for chain in self._chains]
        self._pace = judge.pace
        self._began = self._pace.clock()
        self._before = sum(state.place.round for state in self.states())
        self._news: queue.SimpleQueue[tuple[int, ChainState, Swept | None]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._pieces = 0

    def states(self) -> tuple[ChainState, ...]:
        """The states that were reported: a checkpoint holds nothing whose events are still to come."""
        return tuple(self._states)

    @property
    def front(self) -> tuple[RefitPoint, ...]:
        """The Pareto front of all chains, most accurate first."""
        return sparse_front(point for state in self.states() for point in state.front)

    def run(self, listen: Callable[[RefitPoint | None], None]) -> tuple[RefitPoint, ...]:
        """Run all chains to their ends; returns the front.

        `listen` gets the best mapping several times a second, None before the first. An exception of the
        reporter's pulse ends the chains between two steps; so does the request to finish early.
        """
        try:
            with self._running_chains() as workers:
                while len([worker.result() for worker in workers if worker.done()]) < len(workers):
                    self._hear(listen)
                    self._pace.pulse()
                    if self._pace.finishing and self.front:
                        break
        finally:  # results of the last steps
            self._hear(listen, now=True)
        return self.front

    @contextmanager
    def _running_chains(self) -> Iterator[list[Future[None]]]:
        threads = min(self._judge.threads, len(self._chains))
        with ThreadPoolExecutor(threads, thread_name_prefix="refit") as pool:
            try:
                yield [pool.submit(self._work, index) for index in range(len(self._chains))]
            finally:
                self._stop.set()

    def _work(self, index: int) -> None:
        """Advance a chain until it ends, or all shall stop."""
        chain = self._chains[index]
        while not (chain.done or self._stop.is_set()):
            swept = chain.advance()
            self._news.put((index, ChainState.of(chain), swept))

    def _hear(self, listen: Callable[[RefitPoint | None], None], *, now: bool = False) -> None:
        """Wait up to `_BEAT` for results of the chains, unless `now`, and report them."""
        wait = 0.0 if now else _BEAT
        while True:
            try:
                start, state, swept = self._news.get(timeout=wait) if wait else self._news.get_nowait()
            except queue.Empty:
                break
            wait = 0.0
            self._states[start] = state
            self._pieces += 1
            if swept is not None:
                self._tell(start, swept)
        front = self.front
        if front and (self._pace.due(PHASE) or now):
            self._pace.emit(FrontImproved.of(point.objectives for point in front))
            self._pace.emit(self._progress())
        if front and self._pace.due(_NEWS, EMIT_INTERVAL):
            best = cheapest(front)
            text = f"{self._pieces:,} pieces of work; {best.error:.2%} off with {best.kinds} kinds of µops"
            self._pace.emit(Log("info", text))
        listen(cheapest(front) if front else None)

    def _tell(self, start: int, swept: Swept) -> None:
        point = swept.point
        self._pace.emit(Sweep(start, swept.sweep, swept.changed, point.error, point.volume, point.kinds))

    def _progress(self) -> Progress:
        """Progress in rounds; most chains end before their last round."""
        done = sum(state.place.round for state in self.states())
        max_sweeps = len(self._chains) * self._judge.settings.rounds
        rate = (done - self._before) / max(self._pace.clock() - self._began, 1e-9)
        return Progress(
            PHASE, done, max_sweeps, rate, "rounds", (max_sweeps - done) / rate if rate > 0 else None
        )


def _named_stream(stream: Stream, index: int) -> Callable[[int], np.random.Generator]:
    return lambda sweep: stream("chain", index, sweep)

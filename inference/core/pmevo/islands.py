"""Islands: populations that evolve separately, and regularly send their best mappings to the next in a ring.

Each island has random streams of its own, so that the result does not depend on which worker breeds it, or
when: it depends on the number of islands, and only the duration depends on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inference.core.checkpoint import decode, encode
from inference.core.pacing import Executor, PacedReporter, SilentReporter, TaskContext
from inference.core.pmevo.breeding import Breeder, Evolution
from inference.core.pmevo.fitness import FitnessGate, Slopes
from inference.core.pmevo.generations import GenerationReporter, GenerationStatistics, generation_statistics
from inference.core.pmevo.packing import merge_islands, pack_evolution, unpack_evolution
from inference.core.pmevo.population import select
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.protocols import Checkpoint, Json
from inference.core.tables import ExperimentTable, Floats, Int64s


def should_continue(state: Evolution, judge: FitnessGate) -> bool:
    """Whether an evolution has neither converged nor reached a limit."""
    settings = judge.settings
    within = state.generation < settings.max_generations and not state.converged(settings.convergence)
    return within and not judge.pace.finishing


_TABLE = ("offsets", "scheme", "count", "lengths")
_STAGE = 2  # of the random streams; a single population has 0 and 1


def evolve_apart(
    judge: FitnessGate,
    scheme_times: list[float],
    seed: int,
    state: Evolution | None,
    listen: Callable[[Evolution], None],
    executor: Executor,
) -> Evolution:
    """`evolution.evolve` on several islands.

    An epoch ends where `migrate_every` divides the number of the generation. An island that has converged
    rests until migrants arrive.

    Args:
        judge: Evaluates mappings.
        scheme_times: Cycles of each scheme alone.
        seed: Seed of all random streams.
        state: State to resume from, None to begin.
        listen: Called after each epoch with the state of all islands.
        executor: Runs the islands.

    Returns:
        All islands as one population.
    """
    archipelago = _Archipelago(judge, scheme_times, seed, executor)
    reporter = GenerationReporter(judge, state.generation if state is not None else 0)
    if state is None:
        state = archipelago.settle(reporter)
        listen(state)
    while should_continue(state, judge):
        state = archipelago.epoch(state, reporter)
        listen(state)
    reporter.report_population(state, now=True)
    return replace(state, islands=())


class _Archipelago:
    """All islands, and the executor that breeds them; the population is divided among them evenly."""

    def __init__(self, judge: FitnessGate, scheme_times: list[float], seed: int, executor: Executor) -> None:
        self._judge = judge
        self._settings = judge.settings
        self._executor = executor
        self._common = _Common(judge.table, judge.measured, judge.settings, scheme_times, seed)
        self._bytes = self._common.as_bytes()
        share, remainder = divmod(self._settings.population, self._settings.islands)
        self._sizes: Int64s = np.array([share + (k < remainder) for k in range(self._settings.islands)])

    def settle(self, reporter: GenerationReporter) -> Evolution:
        """Start with random mappings on all islands."""
        return self._run_epoch([None] * len(self._sizes), 0, None, reporter)

    def epoch(self, state: Evolution, reporter: GenerationReporter) -> Evolution:
        """Migrate, and evolve until the next migration."""
        every = self._settings.migrate_every
        until = min((state.generation // every + 1) * every, self._settings.max_generations)
        return self._run_epoch(self._migrate(state.islands), until, state, reporter)

    def _migrate(self, islands: Sequence[Evolution]) -> list[Evolution]:
        """The islands, each with the best of the one before it, if these are fit enough to stay."""
        after = []
        for k, island in enumerate(islands):
            before = islands[k - 1]
            picks = np.arange(min(self._settings.migrants, before.population.n_mappings))
            newcomers = replace(
                before,
                population=select(before.population, picks),
                errors=before.errors[picks],
                volumes=before.volumes[picks],
            )
            after.append(self._common.breeder(self._judge, k, int(self._sizes[k])).receive(island, newcomers))
        return after

    def _run_epoch(
        self,
        islands: Sequence[Evolution | None],
        until: int,
        previous: Evolution | None,
        reporter: GenerationReporter,
    ) -> Evolution:
        """Breed all islands up to a generation, and report the statistics of each generation on the way."""
        pieces = [
            _piece(k, int(size), until, island)
            for k, (size, island) in enumerate(zip(self._sizes, islands, strict=True))
        ]
        answers = self._executor.carry_out(epoch, self._bytes, pieces, self._judge.pace)
        read = [decode(answer) for answer in answers]
        after = tuple(_evolve(answer, self._settings.n_ports) for answer in read)
        self._judge.evaluations += sum(answer.meta["evaluations"] for answer in read)
        stories: GenerationStatistics = np.stack(
            [answer.arrays["story"].astype(np.float64) for answer in read]
        )
        reporter.report_islands(until + 1 - stories.shape[1], stories, self._sizes)
        errors = np.concatenate([island.errors for island in after])
        volumes = np.concatenate([island.volumes for island in after])
        slopes = Slopes.of(errors, volumes, self._settings, previous.slopes if previous is not None else None)
        state = merge_islands(until, after, slopes)
        reporter.report_population(state)
        return state


def epoch(common: bytes, piece: bytes, context: TaskContext) -> bytes:
    """Breed one island up to a generation: an `executor.Task`.

    Args:
        common: What all islands share, from `_Common.as_bytes`.
        piece: The island's number, size, state and last generation, from `_piece`.
        context: Threads to use, and a pulse that may interrupt.

    Returns:
        The island's new state, the statistics of each generation, and the number of evaluations.
    """
    facts = decode(piece)
    common_arrays = _Common.from_bytes(common)
    settings = replace(common_arrays.settings, threads=context.threads)
    pace = PacedReporter(SilentReporter(context.pulse))  # statistics go back with the answer
    judge = FitnessGate.over(common_arrays.table, common_arrays.measured, settings, pace)
    breeder = common_arrays.breeder(judge, facts.meta["island"], facts.meta["size"])
    statistics: list[list[float]] = []
    if facts.meta["evolved"] is None:
        state = breeder.first()
        statistics.append(generation_statistics(state))
    else:
        state = _evolve(facts, settings.n_ports)
    until = facts.meta["until"]
    while state.generation < until and not state.converged(settings.convergence):
        state = breeder.next(state)
        statistics.append(generation_statistics(state))
    # A converged island rests until migrants arrive; its statistics stay as they are.
    statistics += [generation_statistics(state)] * (until - state.generation)
    state = replace(state, generation=until)
    evolved, arrays = pack_evolution(state)
    meta: Json = {"evolved": evolved, "evaluations": judge.evaluations}
    return encode(Checkpoint(meta, {**arrays, "story": np.array(statistics)}))


@dataclass(frozen=True)
class _Common:
    """The data that all islands share, as workers get them."""

    table: ExperimentTable
    measured: Floats
    settings: PMEvoSettings
    scheme_times: list[float]
    seed: int

    def breeder(self, judge: FitnessGate, island: int, size: int) -> Breeder:
        return Breeder(judge, self.scheme_times, self.seed, size, (_STAGE, island))

    def as_bytes(self) -> bytes:
        table = self.table
        meta: Json = {"settings": self.settings.as_json(), "seed": self.seed, "schemes": list(table.schemes)}
        arrays = {name: getattr(table, name) for name in _TABLE}
        arrays |= {"measured": self.measured, "times": np.array(self.scheme_times)}
        return encode(Checkpoint(meta, arrays))

    @classmethod
    def from_bytes(cls, data: bytes) -> _Common:
        checkpoint = decode(data)
        meta, arrays = checkpoint.meta, {name: np.asarray(array) for name, array in checkpoint.arrays.items()}
        return cls(
            ExperimentTable(tuple(meta["schemes"]), **{name: arrays[name] for name in _TABLE}),
            arrays["measured"],
            PMEvoSettings.parse(meta["settings"]),
            arrays["times"].tolist(),
            meta["seed"],
        )


def _piece(island: int, size: int, until: int, evolved: Evolution | None) -> bytes:
    meta: Json = {"island": island, "size": size, "until": until, "evolved": None}
    if evolved is None:
        return encode(Checkpoint(meta))
    meta["evolved"], arrays = pack_evolution(evolved)
    return encode(Checkpoint(meta, arrays))


def _evolve(answer: Checkpoint, n_ports: int) -> Evolution:
    arrays = {name: np.asarray(array) for name, array in answer.arrays.items()}
    return unpack_evolution(answer.meta["evolved"], arrays, n_ports)

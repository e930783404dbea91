"""An agent on another computer, or in another process, as a measurer; its results as measurements."""

from __future__ import annotations

import hashlib
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from inference.agent.protocol import Batch, BatchItem, Frame, Result, Settings
from inference.core.experiment import Experiment, Measured, MeasurementState, OrderedExperiment
from inference.core.protocols import BatchBoard, Json
from inference.isa.bodies import body_maker
from inference.isa.machine_bodies import BodyContext, CannotMeasureError, Kind, MachineCode
from inference.isa.targets import DEFAULT, code_target
from inference.measuring.drift import DriftWatch


def measured_of(experiment: Experiment, result: Result) -> Measured:
    """An agent's result for an experiment; both are cycles per execution of the whole experiment."""
    return Measured(
        experiment,
        result.cycles,
        MeasurementState(result.state),
        spread=result.spread,
        passes=result.passes,
        note=result.note,
        counters=result.counters,
    )


def result_of(item: str, measured: Measured) -> Result:
    """The result that an agent would send for the item with this id."""
    return Result(
        item,
        measured.state.value,
        cycles=measured.cycles,
        spread=measured.spread,
        passes=measured.passes,
        note=measured.note,
        counters=measured.counters,
    )


def failure(experiment: Experiment, reason: str) -> Measured:
    return Measured(experiment, None, MeasurementState.FAILED, passes=0, note=reason)


BATCH_SIZE = 96  # experiments handed over at once
FIRST_BATCH_SIZE = 24
"""Experiments of the first batch of a long list, so that the first results come soon."""

MAX_OUTSTANDING = 2
"""Batches posted at a time: the agent never waits for the next one, and few are lost when a run stops."""

CONTENTION_TIMEOUT = 1800.0
"""Seconds for which a computer may be disturbed until its contended results are used as they are."""


Assemble = Callable[[Sequence[tuple[str, int]]], MachineCode]
AssembleInOrder = Callable[[Sequence[str]], MachineCode]


class RemoteMeasurer:
    """Assembles experiments, posts them in batches on a board, and yields the results.

    An experiment that cannot be assembled or executed on the machine fails with a reason, and is never
    posted. Contended results are posted again until the computer has been disturbed for `contention_timeout`
    seconds. Results that came for an earlier attempt of the run are used first. An `OrderedExperiment` is
    assembled in its order, and is a different item than the same multiset without one.

    Args:
        board: Posts batches to the machine.
        identity: Identity of the machine and its harness; settings and surroundings are added here.
        flags: Flags of the CPU as in /proc/cpuinfo, None where every instruction may be tried.
        settings: Settings of the agent.
        avx: Whether the usual loop bodies may use AVX.
        isa: Name of the instruction set.
        assemble: Makes the code of an experiment's terms, instead of the usual loop body.
        assemble_in_order: The same for an order.
        surroundings: Surroundings of the loop bodies, instead of the usual ones.
        contention_timeout: Seconds.
        watch: Measures some results again from time to time.
        clock: Seconds that never go backwards.
    """

    def __init__(
        self,
        board: BatchBoard,
        identity: Json,
        flags: Collection[str] | None,
        settings: Settings,
        avx: bool,
        *,
        isa: str = DEFAULT,
        assemble: Assemble | None = None,
        assemble_in_order: AssembleInOrder | None = None,
        surroundings: BodyContext | None = None,
        contention_timeout: float = CONTENTION_TIMEOUT,
        watch: DriftWatch | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._board = board
        self._flags = flags
        self._bodies = body_maker(isa)
        self._catalogue = code_target(isa).schemes
        self._surroundings: BodyContext = surroundings or self._bodies.around(avx)
        self._settings = settings
        self._frame = self._surroundings.frame
        self._identity = {
            **identity,
            "settings": settings.as_json(),
            "frame": self._frame.as_json(),
        }
        if options := self._surroundings.options.as_json():  # the usual ones are not named: as ever
            self._identity["bodies"] = options
        self._assemble = assemble or self._bodies.unroll
        self._assemble_in_order = assemble_in_order or self._bodies.unroll_in_order
        self._contention_timeout = contention_timeout
        self._clock = clock
        self._watch = watch
        self._obstacles: dict[str, str] = {}
        self._posted: dict[int, Sequence[_Prepared]] = {}
        self._unclaimed: dict[str, Result] | None = None
        self._disturbed: dict[Experiment, float] = {}
        self._disturbed_since: float | None = None

    @property
    def identity(self) -> Json:
        """The machine, its harness, the settings and the surroundings of the loop bodies."""
        return self._identity

    def offers(self) -> Sequence[Experiment] | None:
        """None: any experiment can be assembled."""
        return None

    def obstacle(self, scheme: str) -> str:
        """Why a scheme cannot be measured there, "" where no reason is known."""
        if scheme not in self._obstacles:
            self._obstacles[scheme] = self._find_obstacle(scheme)
        return self._obstacles[scheme]

    def breakers(self, scheme: str) -> Sequence[Kind]:
        """Kinds of instructions that precede each copy of a scheme to break its dependencies."""
        if not self._surroundings.options.breaking:
            return ()
        return self._bodies.breakers_of(scheme)

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in order; reads no more experiments than it can post."""
        if self._watch is not None:
            return self._watch.over(self._answers, experiments)
        return self._answers(experiments)

    def _answers(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """The results, in order; several batches are outstanding, the first a small one to see its speed."""
        work = _Request(experiments)
        size = FIRST_BATCH_SIZE
        while True:
            while len(self._posted) < MAX_OUTSTANDING and (batch := self._next_batch(work, size)):
                self._post(batch)
                size = BATCH_SIZE
            if work.has_ready:
                yield from work.ready()
            elif work.is_over:
                return
            else:
                self._collect(work)

    def _find_obstacle(self, scheme: str) -> str:
        scheme_row = None if self._flags is None else self._catalogue.scheme_of(scheme)
        if scheme_row is not None and self._flags is not None:
            if reason := self._catalogue.missing_feature(scheme_row, self._flags):
                return reason
            if reason := self._surroundings.obstacle(scheme_row):
                return reason
        try:
            self._assemble([(scheme, 1)])
        except CannotMeasureError as error:
            return error.reason
        return ""

    def _next_batch(self, work: _Request, size: int) -> list[_Prepared]:
        """The next experiments to post, at most `size`; those with a result already are answered.

        Their code is used last: some assemblers make it for all of them at once.
        """
        assembled: list[tuple[Experiment, MachineCode]] = []
        while len(assembled) < size and (experiment := work.next()) is not None:
            answer = self._earlier_answer(experiment) or self._prepare_code(experiment)
            if not isinstance(answer, Measured):
                assembled.append((experiment, answer))
            else:
                work.answer(experiment, answer)
                if work.has_ready:
                    break
        return [(experiment, _item(experiment, code)) for experiment, code in assembled]

    def _earlier_answer(self, experiment: Experiment) -> Measured | None:
        """A result that came while no request waited for it."""
        if self._unclaimed is None:
            earlier = self._board.earlier().items()
            self._unclaimed = {item: result for item, result in earlier if result.state != "contended"}
        answer = self._unclaimed.pop(item_id(experiment), None)
        return None if answer is None else measured_of(experiment, answer)

    def _prepare_code(self, experiment: Experiment) -> MachineCode | Measured:
        """The code of an experiment, or a failure with the reason why there is none."""
        for scheme in experiment.schemes:
            if reason := self.obstacle(scheme):
                return failure(experiment, f"{scheme}: {reason}")
        try:
            if isinstance(experiment, OrderedExperiment):
                return self._assemble_in_order(experiment.order)
            return self._assemble(experiment.terms)
        except CannotMeasureError as error:
            return failure(experiment, f"{error.scheme}: {error.reason}")

    def _post(self, prepared: Sequence[_Prepared]) -> None:
        items = tuple(item for _, item in prepared)
        number = self._board.post(batch_of(self._frame, self._settings, items))
        self._posted[number] = prepared

    def _collect(self, work: _Request) -> None:
        """Wait for a batch; results that no request waits for are kept for later requests."""
        number, results = self._board.collect()
        by_id = {result.id: result for result in results}
        prepared = self._posted.pop(number, ())
        answers = [_answer(experiment, by_id.get(item.id)) for experiment, item in prepared]
        repeats = self._contended_experiments(answers)
        assert self._unclaimed is not None, "post no items before earlier results are known"
        for answer, (_, item) in zip(answers, prepared, strict=True):
            if work.waits_for(answer.experiment):
                if answer.experiment in repeats:
                    work.ask_again(answer.experiment)
                else:
                    work.answer(answer.experiment, answer)
            elif answer.experiment not in repeats and item.id in by_id:
                self._unclaimed[item.id] = by_id[item.id]

    def _contended_experiments(self, answers: Sequence[Measured]) -> set[Experiment]:
        """The disturbed experiments to measure again: those not disturbed for longer than the timeout."""
        now = self._clock()
        disturbed = [answer.experiment for answer in answers if answer.state is MeasurementState.CONTENDED]
        if len(disturbed) < len(answers):
            self._disturbed_since = None
        elif disturbed and self._disturbed_since is None:
            self._disturbed_since = now
        for answer in answers:
            if answer.state is not MeasurementState.CONTENDED:
                self._disturbed.pop(answer.experiment, None)
        repeats = set()
        for experiment in disturbed:
            since = self._disturbed.setdefault(experiment, now)
            if self._disturbed_since is not None:
                since = min(since, self._disturbed_since)
            if now - since < self._contention_timeout:
                repeats.add(experiment)
            else:
                del self._disturbed[experiment]
        return repeats


_Prepared = tuple[Experiment, BatchItem]


def batch_of(frame: Frame, settings: Settings, items: tuple[BatchItem, ...]) -> Batch:
    """Items to measure together; the seed of their order depends on the first item."""
    seed = int.from_bytes(hashlib.blake2b(items[0].id.encode(), digest_size=4).digest())
    return Batch(frame, settings, items, seed)


class _Request:
    """The experiments of one call: those still to post, those waited for, and those that can be yielded."""

    def __init__(self, experiments: Iterable[Experiment]) -> None:
        self._source = iter(experiments)
        self._order: deque[Experiment] = deque()
        self._requests: Counter[Experiment] = Counter()
        self._again: deque[Experiment] = deque()
        self._answers: dict[Experiment, Measured] = {}
        self._exhausted = False

    @property
    def is_over(self) -> bool:
        return self._exhausted and not self._order

    @property
    def has_ready(self) -> bool:
        """Whether the next result in order is available."""
        return bool(self._order) and self._order[0] in self._answers

    def next(self) -> Experiment | None:
        """The next experiment that has not been posted; repeats are posted once."""
        if self._again:
            return self._again.popleft()
        for experiment in self._source:
            self._order.append(experiment)
            self._requests[experiment] += 1
            if self._requests[experiment] == 1:
                return experiment
        self._exhausted = True
        return None

    def waits_for(self, experiment: Experiment) -> bool:
        """Whether a result of the experiment is needed and not yet available."""
        return self._requests[experiment] > 0 and experiment not in self._answers

    def ask_again(self, experiment: Experiment) -> None:
        """Post it once more, before any new experiment."""
        self._again.append(experiment)

    def answer(self, experiment: Experiment, result: Measured) -> None:
        self._answers[experiment] = result

    def ready(self) -> Iterator[Measured]:
        """The available results, in order, up to the first gap."""
        while self.has_ready:
            experiment = self._order.popleft()
            result = self._answers[experiment]
            self._requests[experiment] -= 1
            if not self._requests[experiment]:
                del self._requests[experiment]
                del self._answers[experiment]
            yield result


def _item(experiment: Experiment, code: MachineCode) -> BatchItem:
    return BatchItem(
        id=item_id(experiment),
        code=code.code,
        copies=code.copies,
        half_bytes=code.half_bytes,
        half_copies=code.half_copies,
        instructions=experiment.length,
        terms=experiment.terms,
    )


def item_id(experiment: Experiment) -> str:
    """An id that depends on the experiment alone, including its order."""
    terms = experiment.order if isinstance(experiment, OrderedExperiment) else experiment.terms
    return hashlib.blake2b(repr(terms).encode(), digest_size=12).hexdigest()


def _answer(experiment: Experiment, result: Result | None) -> Measured:
    if result is None:
        return failure(experiment, "the agent gave no result for it")
    return measured_of(experiment, result)

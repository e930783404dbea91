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
    """What an agent's result says of the experiment; both count cycles per execution of all of it."""
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
    """The result that an agent would send for the item of that id."""
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
    """An experiment that has no result, and why."""
    return Measured(experiment, None, MeasurementState.FAILED, passes=0, note=reason)


BATCH_SIZE = 96
FIRST_BATCH_SIZE = 24
"""Of a long list of experiments, so that the first results come soon."""
MAX_OUTSTANDING = 2
"""Batches posted at a time: the agent never waits for the next one, and a stop leaves little undone."""
CONTENTION_TIMEOUT = 1800.0
"""Seconds of a disturbed computer until its contended results are taken as they are."""


Assemble = Callable[[Sequence[tuple[str, int]]], MachineCode]
AssembleInOrder = Callable[[Sequence[str]], MachineCode]


class RemoteMeasurer:
    """Assembles experiments, posts them in batches on a board, and gives back what comes.

    `identity` names the machine and its harness; what is measured how is added here. Loop bodies are made as
    usual for `isa` with or without `avx`, unless they are given with their `surroundings`. `flags` are the
    CPU's as in /proc/cpuinfo, None where every instruction may be tried. An experiment that cannot be
    assembled or executed there is a failure that says why, and is never posted. Contended results are posted
    again until the computer has been disturbed for `patience` seconds. Results that came for an earlier
    attempt of the run are used first. An `OrderedExperiment` is assembled in its order, and is another item
    than the same without one. A `watch` measures some results again now and then.
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
        if chosen := self._surroundings.options.as_json():  # the usual ones are not named: as ever
            self._identity["bodies"] = chosen
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
        """None: anything that can be assembled can be asked."""
        return None

    def obstacle(self, scheme: str) -> str:
        """Why a scheme cannot be measured there, "" where nothing is known to be in the way."""
        if scheme not in self._obstacles:
            self._obstacles[scheme] = self._find_obstacle(scheme)
        return self._obstacles[scheme]

    def breakers(self, scheme: str) -> Sequence[Kind]:
        """Kinds of instructions that stand before each copy of a scheme that can be measured."""
        if not self._surroundings.options.breaking:
            return ()
        return self._bodies.breakers_of(scheme)

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in the order asked; takes no more of them than it can post."""
        if self._watch is not None:
            return self._watch.over(self._answers, experiments)
        return self._answers(experiments)

    def _answers(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
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
        known = None if self._flags is None else self._catalogue.scheme_of(scheme)
        if known is not None and self._flags is not None:
            if reason := self._catalogue.missing_feature(known, self._flags):
                return reason
            if reason := self._surroundings.obstacle(known):
                return reason
        try:
            self._assemble([(scheme, 1)])
        except CannotMeasureError as error:
            return error.reason
        return ""

    def _next_batch(self, work: _Request, size: int) -> list[_Prepared]:
        """The next experiments to post, at most `size`; what has an answer already gets it.

        Their code is asked for in the end: some assemblers make it for all of them at once.
        """
        assembled: list[tuple[Experiment, MachineCode]] = []
        while len(assembled) < size and (experiment := work.next()) is not None:
            answer = self._earlier_answer(experiment) or self._prepared(experiment)
            if not isinstance(answer, Measured):
                assembled.append((experiment, answer))
            else:
                work.answer(experiment, answer)
                if work.has_ready:
                    break
        return [(experiment, _item(experiment, code)) for experiment, code in assembled]

    def _earlier_answer(self, experiment: Experiment) -> Measured | None:
        """A result that came when nobody waited for it."""
        if self._unclaimed is None:
            earlier = self._board.earlier().items()
            self._unclaimed = {item: result for item, result in earlier if result.state != "contended"}
        answer = self._unclaimed.pop(item_id(experiment), None)
        return None if answer is None else measured_of(experiment, answer)

    def _prepared(self, experiment: Experiment) -> MachineCode | Measured:
        """As code, or a failure that says why there is none."""
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
        """Wait for a batch; results that nobody here waits for any more are kept for the next question."""
        number, results = self._board.collect()
        by_id = {result.id: result for result in results}
        prepared = self._posted.pop(number, ())
        answers = [_answer(experiment, by_id.get(item.id)) for experiment, item in prepared]
        again = self._contended(answers)
        assert self._unclaimed is not None, "nothing is posted before earlier results are known"
        for answer, (_, item) in zip(answers, prepared, strict=True):
            if work.waits_for(answer.experiment):
                if answer.experiment in again:
                    work.ask_again(answer.experiment)
                else:
                    work.answer(answer.experiment, answer)
            elif answer.experiment not in again and item.id in by_id:
                self._unclaimed[item.id] = by_id[item.id]

    def _contended(self, answers: Sequence[Measured]) -> set[Experiment]:
        """Those of the experiments that are worth another try."""
        now = self._clock()
        disturbed = [answer.experiment for answer in answers if answer.state is MeasurementState.CONTENDED]
        if len(disturbed) < len(answers):
            self._disturbed_since = None
        elif disturbed and self._disturbed_since is None:
            self._disturbed_since = now
        for answer in answers:
            if answer.state is not MeasurementState.CONTENDED:
                self._disturbed.pop(answer.experiment, None)
        again = set()
        for experiment in disturbed:
            since = self._disturbed.setdefault(experiment, now)
            if self._disturbed_since is not None:
                since = min(since, self._disturbed_since)
            if now - since < self._contention_timeout:
                again.add(experiment)
            else:
                del self._disturbed[experiment]
        return again


_Prepared = tuple[Experiment, BatchItem]


def batch_of(frame: Frame, settings: Settings, items: tuple[BatchItem, ...]) -> Batch:
    """Items to measure together, in orders that depend on what they are."""
    seed = int.from_bytes(hashlib.blake2b(items[0].id.encode(), digest_size=4).digest())
    return Batch(frame, settings, items, seed)


class _Request:
    """One question's experiments: what is still to post, what is waited for, what can be given back."""

    def __init__(self, experiments: Iterable[Experiment]) -> None:
        self._source = iter(experiments)
        self._order: deque[Experiment] = deque()
        self._requests: Counter[Experiment] = Counter()
        self._again: deque[Experiment] = deque()
        self._answers: dict[Experiment, Measured] = {}
        self._exhausted = False

    @property
    def is_over(self) -> bool:
        """Whether everything asked has been given back."""
        return self._exhausted and not self._order

    @property
    def has_ready(self) -> bool:
        """Whether the next result in order is there."""
        return bool(self._order) and self._order[0] in self._answers

    def next(self) -> Experiment | None:
        """The next experiment without an answer on its way; repeats are posted once."""
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
        """Whether a result of it is wanted and not there yet."""
        return self._requests[experiment] > 0 and experiment not in self._answers

    def ask_again(self, experiment: Experiment) -> None:
        """Post it once more, before anything new."""
        self._again.append(experiment)

    def answer(self, experiment: Experiment, result: Measured) -> None:
        self._answers[experiment] = result

    def ready(self) -> Iterator[Measured]:
        """Results as far as they can be given back in order."""
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
    """The same for the same experiment wherever it is posted; an order is part of it."""
    terms = experiment.order if isinstance(experiment, OrderedExperiment) else experiment.terms
    return hashlib.blake2b(repr(terms).encode(), digest_size=12).hexdigest()


def _answer(experiment: Experiment, result: Result | None) -> Measured:
    if result is None:
        return failure(experiment, "the agent gave no result for it")
    return measured_of(experiment, result)

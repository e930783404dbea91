"""Counter-example-guided inference from end to end on small simulated processors."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.cegar import (
    AmbiguityReason,
    CegarProblem,
    CegarSettings,
    Determinacy,
    SolverLimitError,
    infer,
    z3_solver,
)
from inference.core.cegar.answers import CachedMeasurer
from inference.core.cegar.decision_loop import Decider
from inference.core.checkpoint import decode
from inference.core.errors import InsufficientDataError, InterruptedRunError, InvalidInputError
from inference.core.experiment import Experiment, Measured
from inference.core.identity import distinguishing_experiment, same_up_to_renaming
from inference.core.mapping import PortMapping
from inference.core.protocols import Checkpoint
from inference.core.throughput import inverse_throughput
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import SimulatedProcessor
from tests.core.cegar.small import TWO_LEVEL, mappings, search
from tests.core.pmevo.small import Listener
from tests.drawn import examples


@examples(8)
@given(mappings(ports=4, schemes=4))
def test_the_true_two_level_mapping_is_the_result_or_listed_as_an_alternative(truth: PortMapping) -> None:
    result = search(truth)
    explained = [result.mapping, *(each.mapping for each in result.alternatives)]
    assert any(same_up_to_renaming(mapping, truth) for mapping in explained)
    assert (result.verdict is Determinacy.UNIQUE) == (not result.alternatives)
    assert distinguishing_experiment(result.mapping, truth, noise=0.02) is None


@examples(4)
@given(mappings(ports=3, schemes=3, most_uops=2))
def test_a_three_level_result_predicts_what_the_processor_does(truth: PortMapping) -> None:
    result = search(truth, alternatives=3)
    assert not result.limit
    for length in range(1, 6):
        for schemes in itertools.combinations_with_replacement(truth.usage, length):
            mix = Experiment.of(schemes)
            off = inverse_throughput(result.mapping, mix) - inverse_throughput(truth, mix)
            assert abs(off) <= 2 * 0.02 * mix.length + 1e-9


def test_the_number_of_ports_is_the_smallest_that_explains_the_measurements() -> None:
    result = search(TWO_LEVEL, ports=None)
    assert len(result.mapping.ports) == 4
    assert same_up_to_renaming(result.mapping, TWO_LEVEL)


def test_what_the_bottleneck_hides_is_reported_as_ambiguous() -> None:
    truth = PortMapping(("0", "1"), {"a": ((0b01, 1),), "b": ((0b10, 1),)}, r_max=1.0)
    result = search(truth)
    assert result.verdict is Determinacy.AMBIGUOUS
    assert {each.hidden for each in result.alternatives} == {AmbiguityReason.R_MAX}
    assert result.ambiguous_schemes


def test_what_only_long_experiments_would_tell_is_reported_as_ambiguous() -> None:
    result = search(TWO_LEVEL, max_length=1)
    assert {each.hidden for each in result.alternatives} == {AmbiguityReason.LENGTH}
    assert all(measured.experiment.is_singleton for measured in result.experiments)


def test_known_widths_and_shared_uops_are_kept_to() -> None:
    truth = PortMapping(
        ("0", "1", "2"),
        {"alu": ((0b011, 1),), "shift": ((0b001, 1),), "store": ((0b011, 1), (0b100, 1))},
    )
    result = search(truth, improper=("store",), widths={"alu": 2}, alternatives=8)
    for mapping in (result.mapping, *(each.mapping for each in result.alternatives)):
        assert mapping.usage["alu"][0][0].bit_count() == 2
        proper = {mask for scheme in ("alu", "shift") for mask, _ in mapping.usage[scheme]}
        assert proper & {mask for mask, _ in mapping.usage["store"]}


@examples(25)
@given(mappings(4, 4, most_uops=2), st.sampled_from([None, 4]))
def test_known_ports_stay_where_they_are(truth: PortMapping, ports: int | None) -> None:
    known = {scheme: uops[0][0] for scheme, uops in truth.usage.items() if sum(n for _, n in uops) == 1}
    result = search(truth, known=known, ports=ports, most_ports=5)
    told = [result.mapping, *(each.mapping for each in result.alternatives)]
    if known:
        assert same_up_to_renaming(_part(result.mapping, known), _part(truth, known))
    if ports:
        assert result.more_alternatives or any(same_up_to_renaming(truth, one) for one in told)


def test_known_ports_are_kept_where_something_is_left_unexplained() -> None:
    truth = PortMapping(
        ("0", "1", "2", "3"),
        {"a": ((0b0011, 1),), "b": ((0b0010, 1),), "c": ((0b1100, 1),), "d": ((0b0010, 1), (0b0100, 1))},
    )
    wrong = [Measured(Experiment.of({"a": 1, "c": 1}), 1.4)]
    asked = [Experiment.of(pair) for n in (1, 2) for pair in itertools.combinations("abcd", n)]
    exact = {each.experiment: each for each in SimulatedProcessor(truth).measure(asked)}
    measured = exact | {each.experiment: each for each in wrong}
    known = {"a": 0b0011, "b": 0b0010, "c": 0b1100}
    result = search(truth, measurer=RecordedMeasurer(measured.values()), known=known, ports=None)
    assert [each.experiment for each in result.unexplained] == [wrong[0].experiment]
    assert same_up_to_renaming(_part(result.mapping, known), _part(truth, known))


def _part(mapping: PortMapping, schemes: Iterable[str]) -> PortMapping:
    """Some schemes, on as many ports as any mapping here has."""
    usage = {scheme: mapping.usage[scheme] for scheme in schemes}
    return PortMapping(tuple("01234567"), usage)


@pytest.mark.parametrize(
    "truth",
    [
        PortMapping(("0", "1", "2"), {"a": ((0b011, 1),), "b": ((0b001, 1),)}),
        PortMapping(("0", "1"), {"a": ((0b11, 1),), "b": ((0b01, 1), (0b11, 1))}),
    ],
    ids=["two-level", "three-level"],
)
def test_the_linear_program_of_the_thesis_agrees(truth: PortMapping) -> None:
    quick, literal = (
        search(truth, encoding=name, alternatives=2) for name in ("closed-form", "linear-program")
    )
    assert distinguishing_experiment(quick.mapping, literal.mapping, noise=0.02) is None
    assert distinguishing_experiment(literal.mapping, truth, noise=0.02) is None


def test_the_story_is_told_as_it_happens() -> None:
    listener = Listener()
    result = search(TWO_LEVEL, listener)
    kinds = listener.kinds()
    assert {"phase", "seeded", "ports", "candidates", "decision", "standing"} <= set(kinds)
    for before, after in itertools.pairwise(kinds):
        assert before != "candidates" or after == "decision"
    told = [event.payload() for event in listener.events if event.kind == "decision"]
    assert [each["number"] for each in told] == list(range(1, result.counter_examples + 1))
    assert {each["survivor"] for each in told} <= {"first", "second", "neither"}
    for event in listener.events:
        assert json.loads(json.dumps(event.payload(), allow_nan=False)) == event.payload()
        assert event.read(event.payload()) == event.read(event.payload(), strict=True)


def test_every_experiment_decides_between_its_two_candidates() -> None:
    listener = Listener()
    search(TWO_LEVEL, listener)
    for event in listener.events:
        if event.kind == "candidates":
            apart = abs(event.first_cycles - event.second_cycles)
            assert apart > 2 * 0.02 * event.experiment.length
            assert event.first_cycles == inverse_throughput(event.first, event.experiment)


def test_the_same_seed_gives_the_same_answer_from_every_checkpoint() -> None:
    listener = Listener()
    answer = search(TWO_LEVEL, listener)
    assert search(TWO_LEVEL) == answer
    assert answer.solver.startswith("z3 ")
    for data in listener.saved[:: max(1, len(listener.saved) // 4)]:
        again = Listener()
        assert search(TWO_LEVEL, again, resume=decode(data)) == answer
        assert len(again.saved) == len(listener.saved) - len(decode(data).meta["answers"])


def test_seconds_are_those_of_all_attempts() -> None:
    listener = Listener()
    search(TWO_LEVEL, listener)
    saved = listener.last()
    assert saved.meta["seconds"] > 0
    again = search(TWO_LEVEL, resume=Checkpoint({**saved.meta, "seconds": 1000.0}, saved.arrays))
    assert again.seconds > 1000


def test_where_another_solver_asks_anew_the_story_goes_on() -> None:
    first, second, third = (Measured(Experiment.of([scheme]), 1.0) for scheme in "abc")
    answers = CachedMeasurer(RecordedMeasurer([first, second, third]), [first, second], lambda: None)
    answers.measure([first.experiment])
    assert answers.is_replaying
    answers.measure([third.experiment])
    assert not answers.is_replaying


def test_a_limit_that_is_met_with_one_port_more_leaves_the_verdict_open(monkeypatch) -> None:
    decide, more = Decider.decide, len(TWO_LEVEL.ports) + 1

    def impatient(self, shape, *, listing):
        if shape.ports == more:
            raise SolverLimitError("no patience")
        return decide(self, shape, listing=listing)

    monkeypatch.setattr(Decider, "decide", impatient)
    listener = Listener()
    result = search(TWO_LEVEL, listener, ports=None)
    assert (result.verdict, result.limit) == (Determinacy.UNPROVEN, "no patience")
    assert same_up_to_renaming(result.mapping, TWO_LEVEL)
    reasons = [event.payload()["reason"] for event in listener.events if event.kind == "ports"]
    assert "one port more adds nothing" not in reasons


def test_a_checkpoint_of_another_search_is_refused() -> None:
    listener = Listener()
    search(TWO_LEVEL, listener)
    with pytest.raises(InvalidInputError, match="settings"):
        search(TWO_LEVEL, resume=listener.last(), epsilon=0.01)
    with pytest.raises(InvalidInputError, match="not one of CEGAR"):
        search(TWO_LEVEL, resume=Checkpoint({"search": {"algorithm": "pmevo"}}))


def test_a_stop_gets_through_while_the_solver_works() -> None:
    stop = threading.Event()

    def pulse() -> None:
        if stop.is_set():
            raise InterruptedRunError("cancel")

    import z3

    solver = z3_solver.Z3Solver("QF_FD", 0, 0, pulse)
    holes = [[z3.Bool(f"p{i}_{j}", solver.context) for j in range(11)] for i in range(12)]
    for row in holes:
        solver.z3.add(z3.Or(row))
    for column in zip(*holes, strict=True):
        for one, other in itertools.combinations(column, 2):
            solver.z3.add(z3.Or(z3.Not(one), z3.Not(other)))
    threading.Timer(0.3, stop.set).start()  # in the middle of the call, as a rule
    began = time.process_time()
    with pytest.raises(InterruptedRunError):
        solver.satisfiable()
    assert time.process_time() - began < 30  # a tenth of a second; this pigeonhole problem takes minutes


def test_a_search_is_cancelled_in_the_middle_of_a_call_of_the_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    since: list[float] = []
    listen = z3_solver.Z3Solver._listen

    def working(self: z3_solver.Z3Solver, call: Future[object]) -> None:
        since.append(time.process_time())
        listen(self, call)

    monkeypatch.setattr(z3_solver.Z3Solver, "_listen", working)
    schemes = {f"s{k}": ((0b000111 << k % 4 | 1 << k % 3, 1),) for k in range(7)}
    slow = PortMapping(tuple("012345"), schemes)
    with pytest.raises(InterruptedRunError):
        search(slow, Listener(lambda listener: bool(since)), encoding="linear-program")
    assert time.process_time() - since[0] < 30  # a tenth of a second, as a rule; left alone, many minutes


@pytest.mark.parametrize("ports", [None, 4])
def test_a_solver_that_gives_up_at_once_leaves_the_best_mapping_of_a_local_search(ports: int | None) -> None:
    result = search(TWO_LEVEL, solver_limit=1, ports=ports)
    assert result.verdict is Determinacy.UNPROVEN
    assert "resource units" in result.limit
    for measured in result.experiments:
        assert measured.cycles == pytest.approx(inverse_throughput(result.mapping, measured.experiment))


def test_a_result_is_not_called_unique_because_alternatives_were_not_listed() -> None:
    truth = PortMapping(("0", "1"), {"a": ((0b01, 1),), "b": ((0b10, 1),)}, r_max=1.0)
    result = search(truth, alternatives=0)
    assert (result.verdict, result.alternatives, result.more_alternatives) == (
        Determinacy.AMBIGUOUS,
        (),
        True,
    )


def test_a_solver_that_gives_up_leaves_the_result_unproven(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count()
    whole = z3_solver.Z3Solver.satisfiable

    def tired(self: z3_solver.Z3Solver, *assumptions: object) -> bool:
        if next(calls) == 5:
            self.z3.set("rlimit", 1)
        return whole(self, *assumptions)

    monkeypatch.setattr(z3_solver.Z3Solver, "satisfiable", tired)
    result = search(TWO_LEVEL)
    assert result.verdict is Determinacy.UNPROVEN
    assert "resource units" in result.limit


def test_recorded_data_is_used_as_far_as_it_goes() -> None:
    alone = [Experiment.of([scheme]) for scheme in TWO_LEVEL.usage]
    results = list(SimulatedProcessor(TWO_LEVEL).measure(alone))
    found = search(TWO_LEVEL, measurer=RecordedMeasurer(results), alternatives=5)
    assert found.verdict is Determinacy.AMBIGUOUS
    assert {each.hidden for each in found.alternatives} == {AmbiguityReason.UNMEASURED}


def test_without_any_measurement_there_is_no_result() -> None:
    problem = CegarProblem(("stranger",), CegarSettings(ports=2))
    with pytest.raises(InsufficientDataError):
        infer(problem, SimulatedProcessor(TWO_LEVEL), Listener(), 0)

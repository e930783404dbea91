"""What is posted for an agent, and what becomes of its answers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import pytest

from inference.agent.protocol import Batch, Beat, Result, Settings
from inference.core.experiment import Experiment, MeasurementState, OrderedExperiment
from inference.core.mapping import PortMapping
from inference.isa.x86.assembling import unroll
from inference.isa.x86.bodies import needs_avx
from inference.measuring.remote import (
    BATCH_SIZE,
    CONTENTION_TIMEOUT,
    FIRST_BATCH_SIZE,
    MAX_OUTSTANDING,
    Assemble,
    RemoteMeasurer,
    item_id,
)
from inference.measuring.simulated_agent import DummyCode, SimulatedHarness, dummy_code
from tests.measuring.boards import MemoryBoard

MAPPING = PortMapping(("0", "1"), {"a": ((3, 1),), "b": ((1, 1),)})
MANY = [Experiment.of({"a": k % 40 + 1, "b": k // 40 + 1}) for k in range(300)]
ADD = "add GPR[64]:RW, GPR[64]:R"
PADD = "paddd XMM:RW, XMM:R"
VPADD = "vpaddd YMM:W, YMM:R, YMM:R"
VPADD512 = "vpaddd ZMM:W, ZMM:R, ZMM:R"
FLAGS = frozenset({"avx", "avx2", "sse2"})


class Harness:
    """Gives the states it is told for each item, in turn; the last one for ever."""

    def __init__(self, **states: str) -> None:
        self.states = {item_id(Experiment.of([k])): list(told.split()) for k, told in states.items()}
        self.asked: list[str] = []

    async def measure(self, batch: Batch, _progress: object) -> list[Result]:
        return [self.answer(item.id, str(Experiment(item.terms))) for item in batch.items]

    def answer(self, item: str, name: str) -> Result:
        self.asked.append(name)
        told = self.states.get(item, ["settled"])
        state = told.pop(0) if len(told) > 1 else told[0]
        if state == "failed":
            return Result(item, state, note="illegal instruction")
        return Result(item, state, cycles=2.0, spread=0.25, passes=3)

    def beat(self) -> Beat:
        return Beat("idle")

    async def close(self) -> None:
        pass


def measurer(board: MemoryBoard, assemble: Assemble = dummy_code, **options: object) -> RemoteMeasurer:
    identity = {"kind": "machine", "machine": "box"}
    return RemoteMeasurer(board, identity, None, Settings(), True, assemble=assemble, **options)  # type: ignore[arg-type]


def simulated() -> MemoryBoard:
    return MemoryBoard(SimulatedHarness(MAPPING))


def test_a_long_list_is_posted_in_batches_of_which_few_wait_at_a_time() -> None:
    board = simulated()
    assert [r.experiment for r in measurer(board).measure(MANY)] == MANY
    assert [len(batch.items) for batch in board.posted] == [
        FIRST_BATCH_SIZE,
        BATCH_SIZE,
        BATCH_SIZE,
        300 - FIRST_BATCH_SIZE - 2 * BATCH_SIZE,
    ]
    assert board.most == MAX_OUTSTANDING


def test_results_come_as_soon_as_the_first_batch_has_been_measured() -> None:
    board = simulated()
    results = measurer(board).measure(MANY)
    next(results)
    assert len(board.posted) == 1 + MAX_OUTSTANDING
    assert len(board.waiting) == MAX_OUTSTANDING, "the agent has work while results are looked at"


def test_experiments_are_taken_only_as_far_as_they_are_posted() -> None:
    taken = 0

    def endless() -> Iterator[Experiment]:
        nonlocal taken
        for k in itertools.count(1):
            taken += 1
            yield Experiment.of({"a": k})

    results = measurer(simulated()).measure(endless())
    next(results)
    assert taken == FIRST_BATCH_SIZE + MAX_OUTSTANDING * BATCH_SIZE


def test_batches_that_come_in_another_order_are_given_back_in_the_order_asked() -> None:
    board = simulated()
    board.backwards = True
    results = list(measurer(board).measure(MANY))
    assert [result.experiment for result in results] == MANY
    assert all(result.usable for result in results)


def test_one_experiment_is_posted_at_once_and_alone() -> None:
    board = simulated()
    (result,) = measurer(board).measure([MANY[0]])
    assert result.usable
    assert [[item.terms for item in batch.items] for batch in board.posted] == [[MANY[0].terms]]


def test_repeats_are_posted_once() -> None:
    board = simulated()
    asked = [MANY[0], MANY[1], MANY[0], MANY[0]]
    assert [r.experiment for r in measurer(board).measure(asked)] == asked
    assert sum(len(batch.items) for batch in board.posted) == 2


def test_an_answer_keeps_everything_that_the_agent_says() -> None:
    (result,) = measurer(MemoryBoard(Harness())).measure([Experiment.of({"a": 2})])
    assert (result.cycles, result.spread, result.passes) == (2.0, 0.25, 3)
    assert result.state is MeasurementState.SETTLED
    failed, unsettled = measurer(MemoryBoard(Harness(a="failed", b="unsettled"))).measure(
        [Experiment.of(["a"]), Experiment.of(["b"])]
    )
    assert (failed.cycles, failed.note) == (None, "illegal instruction")
    assert unsettled.state is MeasurementState.UNSETTLED


def test_contended_results_are_asked_again_until_they_settle() -> None:
    board = MemoryBoard(Harness(a="contended contended settled"))
    results = list(measurer(board).measure([Experiment.of(["a"]), Experiment.of(["b"])]))
    assert all(result.usable for result in results)
    assert board.harness.asked == ["a", "b", "a", "a"]  # type: ignore[attr-defined]


def test_a_computer_that_stays_disturbed_is_not_waited_for_for_ever() -> None:
    now = iter(itertools.count(0, 500))
    board = MemoryBoard(Harness(a="contended", b="contended"))
    asked = [Experiment.of(["a"]), Experiment.of(["b"])]
    results = list(measurer(board, clock=lambda: float(next(now))).measure(asked))
    assert [result.state for result in results] == [MeasurementState.CONTENDED] * 2
    assert len(board.posted) == CONTENTION_TIMEOUT / 500 + 1.4


def test_results_of_an_earlier_attempt_are_used_first() -> None:
    e, f, g = (Experiment.of({"a": k}) for k in (1, 2, 3))
    board = simulated()
    board._earlier = {
        item_id(e): Result(item_id(e), "settled", cycles=7.0),
        item_id(f): Result(item_id(f), "contended", cycles=7.0),
    }
    assert [r.cycles for r in measurer(board).measure([e, f, g])] == [7.0, 1.0, 1.5]
    assert [[item.terms for item in batch.items] for batch in board.posted] == [[f.terms, g.terms]]


def test_orders_of_one_multiset_are_items_of_their_own_assembled_in_their_order() -> None:
    board = simulated()
    seen: list[tuple[str, ...]] = []

    def assemble_in_order(order: Sequence[str]) -> DummyCode:
        seen.append(tuple(order))
        return dummy_code(order)

    orders = [OrderedExperiment.in_order(order) for order in ("ab", "ba")]
    asked = [orders[0], orders[0].multiset, orders[1], orders[0]]
    board._earlier = {item_id(orders[1]): Result(item_id(orders[1]), "settled", cycles=7.0)}
    results = list(measurer(board, assemble_in_order=assemble_in_order).measure(asked))
    assert [result.experiment for result in results] == asked
    assert [result.cycles for result in results] == [1.0, 1.0, 7.0, 1.0]
    assert seen == [("a", "b")], "the other one was measured before"
    posted = [item for batch in board.posted for item in batch.items]
    assert [item.id for item in posted] == [item_id(orders[0]), item_id(orders[0].multiset)]
    assert len({item_id(each) for each in (*orders, orders[0].multiset)}) == 3


def test_results_that_nobody_waited_for_answer_the_next_question() -> None:
    board = simulated()
    remote = measurer(board)
    abandoned = remote.measure(MANY)
    next(abandoned)
    abandoned.close()
    assert [r.experiment for r in remote.measure(MANY)] == MANY
    posted = [item.id for batch in board.posted for item in batch.items]
    assert len(posted) <= len(MANY) + FIRST_BATCH_SIZE
    assert board.most <= MAX_OUTSTANDING


def test_schemes_are_assembled_and_those_that_cannot_be_are_failures_that_are_never_posted() -> None:
    board = MemoryBoard(Harness())
    remote = RemoteMeasurer(board, {}, FLAGS, Settings(), True)
    asked = [Experiment.of([s]) for s in (ADD, VPADD512, "nonsense", PADD, VPADD)]
    results = list(remote.measure(asked))
    assert [result.state.value for result in results] == ["settled", "failed", "failed", "failed", "settled"]
    assert "lacks AVX512F" in results[1].note
    assert "no such scheme" in results[2].note
    assert "legacy SSE" in results[3].note
    (first, second) = (item for batch in board.posted for item in batch.items)
    assert first.code == unroll([(ADD, 1)]).code
    assert (first.instructions, second.terms) == (1, ((VPADD, 1),))
    assert remote.obstacle(ADD) == ""


def test_schemes_that_do_not_go_together_fail_together_only() -> None:
    remote = RemoteMeasurer(MemoryBoard(Harness()), {}, FLAGS, Settings(), False)
    alone, other, both = remote.measure(Experiment.of(s) for s in ([PADD], [VPADD], [PADD, VPADD]))
    assert (alone.usable, other.usable) == (True, True)
    assert "do not mix" in both.note


def test_the_identity_tells_settings_and_frame() -> None:
    board = MemoryBoard(Harness())
    plain = RemoteMeasurer(board, {"machine": "box"}, None, Settings(), True).identity
    assert plain["machine"] == "box"
    assert plain != RemoteMeasurer(board, {"machine": "box"}, None, Settings(tolerance=0.1), True).identity
    assert plain != RemoteMeasurer(board, {"machine": "box"}, None, Settings(), False).identity


@pytest.mark.parametrize(("schemes", "avx"), [([ADD, PADD], False), ([ADD, VPADD], True), (["toy"], False)])
def test_loop_bodies_have_avx_around_them_if_a_scheme_wants_it(schemes: list[str], avx: bool) -> None:
    assert needs_avx(schemes) is avx

"""The search for the fewest µops and slots: what it finds, what it counts, and how it is taken up again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.core.errors import InterruptedRunError
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.identity.comparison import agreement_up_to_hidden
from inference.core.mapping import PortMapping
from inference.core.metrics import Loss, bounded_loss
from inference.core.pmevo.refit.bounded import BoundedSearch, BoundedState
from inference.core.pmevo.refit.chain_states import pack_bounded, unpack_bounded
from inference.core.pmevo.refit.front import RefitPoint
from inference.core.pmevo.refit.objective import MEAN, Objective, Prices
from inference.core.pmevo.refit.search_arrays import Lists, SearchArrays
from inference.core.pmevo.refit.usage import Usage
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import ExperimentTable, Population
from inference.measuring.simulated import SimulatedProcessor
from tests.drawn import examples

PORTS = 5
# Two ports for sums, one of them for products, two for loads; a fused load takes one slot, `swap` three.
TRUTH = PortMapping(
    tuple(str(k) for k in range(PORTS)),
    {
        "add": ((0b00011, 1),),
        "load": ((0b01100, 1),),
        "load_add": ((0b00011, 1), (0b01100, 1)),
        "load_mul": ((0b00001, 1), (0b01100, 1)),
        "load_sub": ((0b00011, 1), (0b01100, 1)),
        "mul": ((0b00001, 1),),
        "nop": (),
        "shuffle": ((0b10000, 1),),
        "sub": ((0b00011, 1),),
        "swap": ((0b00011, 1),),
    },
    r_max=3.0,
    issue_width=3.0,
    slots={"swap": 3},
)
SCHEMES = tuple(TRUTH.usage)
CHOSEN = PMEvoSettings(ports=PORTS, r_max=3.0, issue_width=3.0, perturbations=12)


def experiments() -> list[Experiment]:
    found = [Experiment.of(chosen) for n in (1, 2, 3) for chosen in itertools.combinations(SCHEMES, n)]
    return found + [
        Experiment.of({a: n, b: 1}) for a, b in itertools.permutations(SCHEMES, 2) for n in (2, 5)
    ]


def arrays() -> SearchArrays:
    return arrays_of(TRUTH, experiments())


def arrays_of(truth: PortMapping, asked: Sequence[Experiment]) -> SearchArrays:
    """Of experiments that begin with all schemes alone."""
    schemes = tuple(truth.usage)
    measured = np.array(
        [each.cycles for each in SimulatedProcessor(truth, noise=0.005, seed=4).measure(asked)]
    )
    table = ExperimentTable.from_experiments(asked, schemes)
    members = np.ones(len(schemes), dtype=np.int64)
    return SearchArrays(Evaluator(table, PORTS, 3.0), measured, measured[: len(schemes)], members)


def start(seed: int) -> Usage:
    return Usage.random(np.ones(len(SCHEMES)), PORTS, np.random.default_rng(seed))


def front(on: SearchArrays) -> list[RefitPoint]:
    return [on.point(start(seed)) for seed in range(3)]


def search(
    on: SearchArrays, saved: BoundedState | None = None, chosen: PMEvoSettings = CHOSEN
) -> BoundedSearch:
    return BoundedSearch(on, front(on), chosen, lambda k: np.random.default_rng((9, k)), lambda: None, saved)


def as_mapping(point: RefitPoint) -> PortMapping:
    usage = {scheme: point.usage.row(k) for k, scheme in enumerate(SCHEMES)}
    slots = {scheme: int(point.usage.slots[k]) for k, scheme in enumerate(SCHEMES)}
    return PortMapping(TRUTH.ports, usage, 3.0, point.issue_width, slots)


def to_the_end(found: BoundedSearch) -> BoundedSearch:
    while not found.ended:
        found.advance()
    return found


def test_from_random_starts_it_finds_the_processor_with_its_slots() -> None:
    found = to_the_end(search(arrays()))
    mapping = as_mapping(found.point)
    assert agreement_up_to_hidden(mapping, TRUTH, experiments()) == 1
    assert mapping.slots == TRUTH.slots
    assert found.point.error < 0.01


def test_what_is_found_does_not_depend_on_where_it_was_interrupted() -> None:
    whole = to_the_end(search(arrays()))
    on = arrays()
    state: BoundedState | None = None
    while True:
        again = search(on, state)
        if again.ended:
            break
        again.advance()
        facts, packed = pack_bounded(again.state, PORTS)
        state = unpack_bounded(facts, packed, PORTS)
    assert state is not None
    assert state.usage is not None
    assert whole.state.usage is not None
    assert replace(state, usage=None) == replace(whole.state, usage=None)
    assert [state.usage.row(k) for k in range(len(SCHEMES))] == [
        whole.state.usage.row(k) for k in range(len(SCHEMES))
    ]
    assert state.usage.slots.tolist() == whole.state.usage.slots.tolist()


def test_an_interruption_leaves_the_last_local_search_as_it_was() -> None:
    on = arrays()
    beats = iter(range(40))

    def pulse() -> None:
        if next(beats, None) is None:
            raise InterruptedRunError("now")

    found = BoundedSearch(on, front(on), CHOSEN, lambda k: np.random.default_rng((9, k)), pulse)
    with pytest.raises(InterruptedRunError):
        to_the_end(found)
    undisturbed = search(on)
    for _ in range(found.state.done):
        undisturbed.advance()
    assert found.state.value == undisturbed.state.value


def test_without_a_limit_outside_the_ports_no_slots_are_counted() -> None:
    found = search(arrays(), chosen=replace(CHOSEN, r_max=None, issue_width=None, perturbations=2))
    point = to_the_end(found).point
    assert point.issue_width is None
    assert as_mapping(point).limits == {"instructions": 3.0}


def test_what_takes_longer_alone_than_its_slot_has_uops() -> None:
    """The width hides it in all mixes; what is as wide as that has none."""
    sums = dict.fromkeys(("add", "and", "neg", "or", "sub", "test", "xor"), ((0b00111, 1),))
    truth = PortMapping(
        TRUTH.ports,
        {**sums, "mul": ((0b00001, 1),), "shl": ((0b00011, 1),), "store": ((0b11000, 1),)},
        r_max=3.0,
        issue_width=3.0,
    )
    schemes = tuple(truth.usage)
    asked = [Experiment.of(chosen) for n in (1, 2, 3) for chosen in itertools.combinations(schemes, n)]
    found = to_the_end(search(arrays_of(truth, asked))).point.usage
    assert [(mask.bit_count(), count) for mask, count in found.row(schemes.index("store"))] == [(2, 1)]
    assert not any(found.row(schemes.index(scheme)) for scheme in sums)


@pytest.mark.parametrize(("r_max", "dear"), [(3.0, True), (None, False)])
def test_only_r_max_hides_what_schemes_have(r_max: float | None, dear: bool) -> None:
    assert (search(arrays(), chosen=replace(CHOSEN, r_max=r_max)).prices.none > 0) is dear


def loss(cycles: float, measured: float, objective: Objective) -> float:
    """The objective as its docstring has it."""
    error = (cycles - measured) / measured
    of = objective.loss
    if not of.spread:
        return abs(error)
    spread = of.spread * (1 if error > 0 else of.waste)
    return error**2 / (error**2 + spread**2) * (of.over if error > 0 else 1) + of.distance * min(
        abs(error), 1
    )


SLOTS = st.lists(st.integers(1, 4), min_size=len(SCHEMES), max_size=len(SCHEMES))
OBJECTIVES = st.sampled_from(
    [
        MEAN,
        Objective(bounded_loss(0.02), 0.0),
        Objective(Loss(0.03, over=1.5, waste=1.0, distance=0.1), 1 / 3),
    ]
)


@examples(25)
@given(seed=st.integers(0, 99), objective=OBJECTIVES, slots=SLOTS)
def test_the_value_of_a_mapping_is_the_sum_of_its_losses(
    seed: int, objective: Objective, slots: Sequence[int]
) -> None:
    on, usage = arrays(), replace(start(seed), slots=np.array(slots, dtype=np.int64))
    table = ExperimentTable.from_experiments(experiments(), SCHEMES)
    population = Population.from_rows([usage.row(k) for k in range(len(SCHEMES))], 1, PORTS)
    cycles = Evaluator(table, PORTS, 3.0).cycles(population)[0].tolist()
    measured = [each.cycles for each in SimulatedProcessor(TRUTH, noise=0.005, seed=4).measure(experiments())]
    taken = [sum(n * slots[SCHEMES.index(s)] for s, n in e.terms) for e in experiments()]
    expected = sum(
        loss(max(t, n * objective.per_slot), m, objective)
        for t, n, m in zip(cycles, taken, measured, strict=True)
    )
    assert on.value(usage, objective, Prices(0.0, 0.0)) == pytest.approx(expected)


@examples(25)
@given(seed=st.integers(0, 99), objective=OBJECTIVES, scheme=st.integers(0, len(SCHEMES) - 1))
def test_what_a_refit_says_it_gained_is_what_the_mapping_gains(
    seed: int, objective: Objective, scheme: int
) -> None:
    on, usage = arrays(), start(seed)
    prices = Prices(kind=0.0, volume=0.001, uop=0.02, slot=0.01)
    listed = np.arange(1, 1 << PORTS, dtype=np.int64)
    before = on.value(usage, objective, prices)
    gained = on.refit(usage, scheme, Lists(listed, listed[:8], listed), prices, objective, keep=True)
    assert gained <= 0
    assert on.value(usage, objective, prices) - before == pytest.approx(gained, abs=1e-9)


def test_kinds_wider_than_any_set_that_is_tried_can_be_exchanged_too() -> None:
    on = arrays()
    wide = Usage.empty(len(SCHEMES))
    for scheme in range(len(SCHEMES)):
        wide.set_row(scheme, [(0b11111, 5)])
    found = search(on, BoundedState(2.0, done=3, usage=wide, value=1e9))
    for _ in range(12):
        found.state = replace(found.state, usage=wide.copy(), value=1e9)
        found.advance()

"""The start from the schemes that most is known of."""

from __future__ import annotations

import itertools

import numpy as np

from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.identity.comparison import agreement_up_to_hidden
from inference.core.mapping import PortMapping
from inference.core.pmevo.refit.best_known import best_known_first
from inference.core.pmevo.refit.search_arrays import SearchArrays
from inference.core.pmevo.settings import PMEvoSettings
from inference.core.tables import ExperimentTable
from inference.measuring.simulated import SimulatedProcessor

PORTS, KNOWN = 5, 20
KINDS = (0b00001, 0b00011, 0b00100, 0b01100, 0b10000)
SCHEMES = tuple(f"s{k:02}" for k in range(50))
TRUTH = PortMapping(
    tuple(str(k) for k in range(PORTS)),
    {scheme: ((KINDS[k % len(KINDS)], 1),) for k, scheme in enumerate(SCHEMES)},
    r_max=6.0,
)
CHOSEN = PMEvoSettings(ports=PORTS, r_max=6.0, issue_width=6.0, perturbations=12)


def arrays(asked: list[Experiment]) -> SearchArrays:
    answers = [each.cycles for each in SimulatedProcessor(TRUTH, noise=0.005, seed=4).measure(asked)]
    measured = np.array(answers, dtype=np.float64)
    table = ExperimentTable.from_experiments(asked, SCHEMES)
    return SearchArrays(
        Evaluator(table, PORTS, 6.0), measured, measured[: len(SCHEMES)], np.ones(len(SCHEMES), np.int64)
    )


def asked_about_some() -> list[Experiment]:
    """All pairs of the first twenty, even and uneven; each other one alone and beside a few of them."""
    alone = [Experiment.of([scheme]) for scheme in SCHEMES]
    among = list(itertools.combinations(SCHEMES[:KNOWN], 2))
    pairs = [Experiment.of({a: n, b: 1}) for a, b in among for n in (1, 2)]
    others = [Experiment.of({a: 1, b: 2}) for a in SCHEMES[KNOWN:] for b in SCHEMES[:KNOWN:3]]
    return alone + pairs + others


def streams(k: int) -> np.random.Generator:
    return np.random.default_rng((5, k))


def test_experiments_of_some_schemes_alone_are_a_desk_of_their_own() -> None:
    whole = arrays(asked_about_some())
    few = whole.among(np.arange(KNOWN))
    assert len(few.occurrences) == KNOWN
    assert few.occurrences.tolist() == [1 + 2 * (KNOWN - 1)] * KNOWN
    assert few.times.tolist() == whole.times[:KNOWN].tolist()


def test_kinds_found_among_the_best_known_serve_all() -> None:
    asked = asked_about_some()
    found = best_known_first(arrays(asked), CHOSEN, streams, lambda: None)
    assert found is not None
    usage = {scheme: found.usage.row(k) for k, scheme in enumerate(SCHEMES)}
    mapping = PortMapping(TRUTH.ports, usage, issue_width=found.issue_width)
    assert agreement_up_to_hidden(mapping, TRUTH, asked) == 1.0
    again = best_known_first(arrays(asked), CHOSEN, streams, lambda: None)
    assert again is not None
    assert [again.usage.row(k) for k in range(len(SCHEMES))] == list(usage.values()), "same seed, same answer"


def test_where_no_scheme_stands_out_nothing_is_begun_with() -> None:
    pairs = [Experiment.of([a, b]) for a, b in itertools.pairwise((*SCHEMES, SCHEMES[0]))]
    even = arrays([Experiment.of([scheme]) for scheme in SCHEMES] + pairs)
    assert best_known_first(even, CHOSEN, streams, lambda: None) is None

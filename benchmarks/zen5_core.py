"""Explained µops of the default set and counter-examples on a simulated core that behaves as a Zen 5.

Its scheduler wastes what a recorded one does (`benchmarks._drawn_cores`). Every result is kept in
`benchmarks/out/zen5-core.jsonl`, and a benchmark that was interrupted goes on behind them; without that file
it begins anew. `right` is the share of schemes that experiments do not tell from the true ones; `false` are
statements with the strongest word that are not true.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import Result
from benchmarks._drawn_cores import zen5_like_core
from benchmarks.any_core import Outcome, by_cegar, by_explaining, outcome_on, resumed
from inference.isa.x86.probes import PREFERRED, PROBES

SEEDS = 10  # of counter-example inference
CHARACTERISED, KINDS, RIGHT = 1700, 12, 0.95
EXPLAINED_SECONDS, CEGAR_SECONDS = 900, 180
_EVERY = 8
"""Of the schemes of the default set, every so many are explained with `quick`."""

_KEPT = Path(__file__).parent / "out" / "zen5-core.jsonl"


def run(quick: bool) -> Iterator[Result]:
    """One seed of the default set and ten of the probes; `quick` an eighth and one, nothing of it kept."""
    if quick:
        outcomes = [_explained(0, _EVERY), _by_counter_examples(0)]
    else:
        cases = [(0, "explained"), *((seed, "cegar") for seed in range(SEEDS))]
        outcomes = resumed(_KEPT, cases, _outcome)
    for outcome in outcomes:
        yield _result(outcome)


def _outcome(seed: int, name: str) -> Outcome:
    return _explained(seed, 1) if name == "explained" else _by_counter_examples(seed)


def _explained(seed: int, every: int) -> Outcome:
    schemes = sorted(zen5_like_core(seed).truth.usage)
    chosen = {*schemes[::every], *(scheme for scheme in PREFERRED if scheme in schemes)}
    return outcome_on(zen5_like_core(seed, sorted(chosen)), "explained", by_explaining)


def _by_counter_examples(seed: int) -> Outcome:
    core = zen5_like_core(seed, sorted(PROBES))
    return outcome_on(core, "cegar", lambda probed: by_cegar(probed, sorted(PROBES)))


def _result(outcome: Outcome) -> Result:
    """The share of right schemes of one inference, with what it claims and how much is asked for."""
    is_explained = outcome.algorithm == "explained"
    more = {
        "seed": outcome.seed,
        "schemes": outcome.schemes,
        "kinds": outcome.kinds,
        "claims": outcome.claims,
        "false": outcome.false,
        "wrong": list(outcome.wrong),
        "reason": outcome.reason,
        "cpu_seconds": outcome.seconds,
        "of_seconds": EXPLAINED_SECONDS if is_explained else CEGAR_SECONDS,
    }
    if is_explained:
        more |= {"of_schemes": CHARACTERISED, "of_kinds": KINDS}
    share = round(outcome.right or 0.0, 4)
    return Result(
        f"zen5-{outcome.algorithm}", share, "share of right schemes", RIGHT if is_explained else 1.0, more
    )

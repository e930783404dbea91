"""All three algorithms on simulated cores that are drawn at random: what they get right, and what they claim.

Every core is measured with 1 % noise on schemes of the starter set: by PMEvo and explained µops on all of
them, by CEGAR on those that show its units. `right`: the share of schemes that experiments do not tell from
the true ones, of which slots count only where a mapping tells of them. `false`: results that were called the
only ones, or µops that were called proven, and are not true. A core's results are kept in
`benchmarks/out/any-core.jsonl`, and a benchmark that was interrupted goes on behind them; without that file
it begins anew.
"""

from __future__ import annotations

import itertools
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import isclose
from pathlib import Path

from benchmarks import Result
from benchmarks._drawn_cores import DrawnCore, drawn_core
from benchmarks._silent import Silent
from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.cegar import CegarProblem, CegarSettings, Determinacy
from inference.core.cegar import infer as infer_by_cegar
from inference.core.errors import InsufficientDataError, InvalidInputError
from inference.core.experiment import Experiment
from inference.core.explain import ExplainProblem, ExplainSettings, SchemeFate
from inference.core.explain import infer as infer_explained
from inference.core.mapping import PortMapping, Uops
from inference.core.pmevo import PMEvoProblem, PMEvoSettings
from inference.core.pmevo import infer as infer_by_pmevo
from inference.core.throughput import inverse_throughput
from inference.isa.domains import domains_of, forms_among, single_domains, units_of
from inference.isa.x86.probes import PREFERRED

CORES, _QUICK_CORES = 30, 2
SECONDS = 120.0
"""What an algorithm may take on a core."""

RIGHT, RIGHT_WITH_WASTE = 0.9, 0.8
"""The shares of right schemes that are asked for, on cores that waste nothing and on those that do."""

_EXPERIMENTS, _MAX_COPIES = 60, 6
_CLOSE = 0.02  # relative difference of inverse throughputs that experiments would not show
_KEPT = Path(__file__).parent / "out" / "any-core.jsonl"


@dataclass(frozen=True)
class Outcome:
    """What an algorithm made of a core; `claims`: strongest statements, `false` of them are not true.

    `right`: None where it ended without a mapping, for a `reason`.
    """

    seed: int
    algorithm: str
    wastes: bool
    seconds: float
    right: float | None
    schemes: int
    claims: int
    false: int
    reason: str = ""
    wrong: Sequence[str] = ()
    """The schemes of false statements."""
    kinds: int = 0
    """Different port sets of the mapping."""


@dataclass(frozen=True)
class Answer:
    """A mapping, and what is claimed of it."""

    mapping: PortMapping
    claimed: Sequence[str]
    """Schemes of which nothing else is said to be possible."""


def run(quick: bool) -> Iterator[Result]:
    """30 cores; `quick` two of them, nothing of which is kept."""
    outcomes = (
        [_outcome(seed, name) for seed in range(_QUICK_CORES) for name in ALGORITHMS] if quick else _all()
    )
    for name in ALGORITHMS:
        for wastes in (False, True):
            yield _summary(
                name,
                wastes,
                [outcome for outcome in outcomes if (outcome.algorithm, outcome.wastes) == (name, wastes)],
            )


def _all() -> list[Outcome]:
    """Those that are kept, and the others, which then are."""
    cores = ((seed, name) for seed in range(CORES) for name in ALGORITHMS)
    return resumed(_KEPT, cores, _outcome)


def resumed(
    file: Path, cases: Iterable[tuple[int, str]], outcome: Callable[[int, str], Outcome]
) -> list[Outcome]:
    """The outcomes of (seed, algorithm) pairs, each kept in a file from which a benchmark goes on."""
    file.parent.mkdir(exist_ok=True)
    lines = file.read_text().splitlines() if file.exists() else []
    outcomes = {
        (outcome.seed, outcome.algorithm): outcome
        for outcome in (Outcome(**json.loads(line)) for line in lines)
    }
    for seed, name in cases:
        if (seed, name) not in outcomes:
            outcomes[seed, name] = outcome(seed, name)
            with file.open("a") as stream:
                stream.write(json.dumps(asdict(outcomes[seed, name])) + "\n")
    return [*outcomes.values()]


def _outcome(seed: int, name: str) -> Outcome:
    return outcome_on(drawn_core(seed), name, ALGORITHMS[name])


def outcome_on(core: DrawnCore, name: str, algorithm: Callable[[DrawnCore], Answer]) -> Outcome:
    """What an algorithm makes of a core."""
    began = time.process_time()
    try:
        answer = algorithm(core)
    except (InsufficientDataError, InvalidInputError) as error:
        return Outcome(core.seed, name, core.wastes, time.process_time() - began, None, 0, 0, 0, str(error))
    seconds = time.process_time() - began
    truth = core.truth if answer.mapping.issue_width is not None else replace(core.truth, slots={})
    schemes, right = answer.mapping.usage, _right(answer.mapping, truth, core.seed)
    return Outcome(
        core.seed,
        name,
        core.wastes,
        round(seconds, 1),
        len(right) / max(1, len(schemes)),
        len(schemes),
        len(answer.claimed),
        len(set(answer.claimed) - right),
        wrong=tuple(sorted(set(answer.claimed) - right)),
        kinds=len({mask for uops in schemes.values() for mask, _ in uops}),
    )


def _right(mapping: PortMapping, truth: PortMapping, seed: int) -> frozenset[str]:
    """The schemes of a found mapping that no experiment among them tells from the true ones.

    Schemes with the same µops in both are right or wrong together. Left out, one such group after another,
    are those with the most experiments that take another time, for the number of their schemes: where loads
    share a port with additions in one mapping only, most experiments that show it have additions, but it
    takes fewer schemes to leave out the loads. Groups are taken back where no experiment shows them.
    """
    dice = random.Random(seed)
    pairs = {scheme: (mapping.usage[scheme], truth.usage[scheme]) for scheme in sorted(mapping.usage)}
    wrong = [
        mix
        for mix in (_drawn_experiment(dice, [*pairs]) for _ in range(_EXPERIMENTS * len(pairs)))
        if not isclose(inverse_throughput(mapping, mix), inverse_throughput(truth, mix), rel_tol=_CLOSE)
    ]
    sizes = Counter(pairs.values())
    groups = [{pairs[scheme] for scheme in mix.schemes} for mix in wrong]
    left_out: list[tuple[Uops, Uops]] = []
    while remaining := [group for group in groups if group.isdisjoint(left_out)]:
        counts = Counter(itertools.chain.from_iterable(remaining))
        worst = max(counts, key=lambda pair: counts[pair] / sizes[pair])
        left_out.append(worst)
    for pair in sorted(left_out, key=lambda pair: -sizes[pair]):
        other_pairs = [other for other in left_out if other != pair]
        left_out = left_out if any(group.isdisjoint(other_pairs) for group in groups) else other_pairs
    return frozenset(scheme for scheme, pair in pairs.items() if pair not in left_out)


def _drawn_experiment(dice: random.Random, schemes: Sequence[str]) -> Experiment:
    chosen = dice.sample(schemes, min(dice.randint(1, 3), len(schemes)))
    return Experiment.of({scheme: dice.randint(1, _MAX_COPIES) for scheme in chosen})


def _by_pmevo(core: DrawnCore) -> Answer:
    """PMEvo's mapping of a core; it claims nothing."""
    schemes = tuple(core.truth.usage)
    problem = PMEvoProblem(
        schemes,
        PMEvoSettings(),
        forms=forms_among(schemes),
        domains=single_domains(schemes),
        core=core.facts(),
    )
    result = infer_by_pmevo(problem, core.processor(), Silent(), core.seed)
    return Answer(result.mapping, ())  # PMEvo's mapping is the best of many, nothing else


def _by_cegar(core: DrawnCore) -> Answer:
    return by_cegar(core, _one_of_each_unit(core))


def by_cegar(core: DrawnCore, schemes: Sequence[str]) -> Answer:
    """By counter-examples, of some schemes with one µop."""
    schemes = tuple(schemes)
    problem = CegarProblem(schemes, CegarSettings(), domains=units_of(schemes))
    facts = core.facts()
    waste = None if facts is None else facts.with_chains()
    result = infer_by_cegar(problem, core.processor(), Silent(), core.seed, waste=waste)
    claimed = result.mapping.usage if result.verdict is Determinacy.UNIQUE else ()
    return Answer(result.mapping, [*claimed])


def by_explaining(core: DrawnCore) -> Answer:
    """Explained µops of all schemes of a core."""
    schemes = tuple(core.truth.usage)
    problem = ExplainProblem(
        schemes, ExplainSettings(), preferred=PREFERRED, domains=domains_of(schemes), core=core.facts()
    )
    result = infer_explained(problem, core.processor(), Silent(), core.seed, None, solve_by_cegar)
    claimed = [
        verdict.scheme
        for verdict in result.characterisations
        if verdict.outcome is SchemeFate.CHARACTERISED and not verdict.doubts and not verdict.alternatives
    ]
    return Answer(result.mapping, claimed)


ALGORITHMS: dict[str, Callable[[DrawnCore], Answer]] = {
    "pmevo": _by_pmevo,
    "cegar": _by_cegar,
    "explained": by_explaining,
}


def _one_of_each_unit(core: DrawnCore) -> tuple[str, ...]:
    """Schemes with one µop, of which no two have the same ports."""
    chosen = {
        uops: scheme for scheme, uops in sorted(core.truth.usage.items()) if sum(n for _, n in uops) == 1
    }
    return tuple(sorted(chosen.values()))


def _summary(name: str, wastes: bool, outcomes: Sequence[Outcome]) -> Result:
    """The mean share of right schemes of an algorithm, over cores with or without waste."""
    bar = RIGHT_WITH_WASTE if wastes else RIGHT
    shares = [outcome.right for outcome in outcomes if outcome.right is not None]
    more = {
        "cores": len(outcomes),
        "without_a_mapping": [
            (outcome.seed, outcome.reason) for outcome in outcomes if outcome.right is None
        ],
        "of_the_bar": sum(share >= bar for share in shares),
        "least": round(min(shares, default=0.0), 3),
        "schemes": sum(outcome.schemes for outcome in outcomes),
        "claims": sum(outcome.claims for outcome in outcomes),
        "false": sum(outcome.false for outcome in outcomes),
        "wrong": sorted(f"{outcome.seed}: {scheme}" for outcome in outcomes for scheme in outcome.wrong),
        "seconds": round(statistics.median([outcome.seconds for outcome in outcomes]), 1)
        if outcomes
        else None,
        "too_long": [outcome.seed for outcome in outcomes if outcome.seconds > SECONDS],
    }
    kind = "with-waste" if wastes else "without-waste"
    share = statistics.mean(shares) if shares else 0.0
    return Result(f"{name}-{kind}", round(share, 4), "share of right schemes", bar, more)

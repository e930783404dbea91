"""How a core model made of recorded measurements predicts 1,200 blocks of SQLite on a Zen 5.

The mapping is inferred: explained µops of the two default sets, with the schemes that PMEvo's mapping of the
starter set has beside, joined and completed as by *Know this CPU*. Latencies, memory and front end are those
that were recorded. Sizes of loops that fetching holds up are read from the experiments of all three sets.

`zen5-straight` and `zen5-loops` are the MAPE of the blocks that the model describes, beside what issue 50
asks for. `median`, `tau`, `above` (blocks predicted more than 3 % above the measurement) and `described`
go with it. `own` has the same numbers of the blocks whose schemes were all measured: of `push`, `pop`, short
forms with the accumulator and legacy SSE a model assumes that they do the work of others. `settled`: those of
which it does not say that fetching may hold them up. `without_loop_code`: of all, without that bound.
`nearest`: of all, with the nearest schemes for those that are not described. `by_bound`: {largest bound: its
blocks, and their part of the MAPE}. `simulated`: by the simulated scheduler, of the blocks that it executes,
with the bounds of the same blocks as `bounds`. `per_second`: blocks per second of one processor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from benchmarks import Result
from benchmarks._measured import cost_of
from benchmarks._published_data import block_rows, zen5_core, zen5_results
from benchmarks._silent import Silent
from benchmarks.starter_ports import recorded
from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.core_model import Assumptions, CoreModel
from inference.core.core_model.bounds import UNMEASURED_LOOP_SIZE
from inference.core.core_model.loop_code import measured_loop_code
from inference.core.core_model.nearest import CoreModelBlocks
from inference.core.core_model.prediction import CorePrediction
from inference.core.experiment import Measured
from inference.core.explain import ExplainProblem, ExplainSettings, NotCharacterised
from inference.core.explain import infer as explain
from inference.core.judging.selection import merge
from inference.core.loop.analysis import analyse
from inference.core.loop.modelled import modelled
from inference.core.loop.values import Changes
from inference.core.mapping import PortMapping, with_sums
from inference.core.metrics import score
from inference.core.pmevo import PMEvoProblem, PMEvoSettings
from inference.core.pmevo import infer as evolve
from inference.core.protocols import Json
from inference.core.simulation.steady_state import compile_simulation
from inference.isa.blocks import Block, block_of_bytes
from inference.isa.domains import domains_of, forms_among, single_domains
from inference.isa.scheme import LEGACY_SSE
from inference.isa.x86.bodies import loop_size
from inference.isa.x86.equivalent_schemes import EQUIVALENT_SCHEMES, same_work
from inference.isa.x86.probes import PREFERRED
from inference.isa.x86.scheme_set import schemes_of
from inference.measuring.recorded import RecordedMeasurer

STRAIGHT, LOOPS = 3.0, 6.0
_ABOVE = 0.03
_FULL_RATE = 1.2
"""Times the cycles at the full rate, up to which a scheme that delays no flood needs no port."""

_STARTER, _DEFAULT = ("starter.csv",), ("alone_pairs_floods.csv", "floods.csv")


@dataclass(frozen=True)
class PredictedBlock:
    """A block with its cycles as measured and as predicted."""

    measured: float
    prediction: CorePrediction
    schemes: frozenset[str]
    simulated: float | None = None


def run(quick: bool) -> Iterator[Result]:
    """Both modes; `quick` takes little effort for PMEvo's mapping."""
    effort = PMEvoSettings(starts=1, perturbations=10) if quick else PMEvoSettings()
    compile_simulation()
    cost = cost_of(lambda: recorded_model(effort))
    model, assumed = cost.value
    blocks = [
        (block_of_bytes(bytes.fromhex(code)), (float(straight), float(loop)))
        for code, straight, loop in block_rows("zen5/blocks.csv")
    ]
    for name, reference, in_loop in (("straight", STRAIGHT, False), ("loops", LOOPS, True)):
        measured = [(block, cycles[in_loop]) for block, cycles in blocks if cycles[in_loop] > 0]
        found = predicted(model, measured, in_loop=in_loop)
        own = [block for block in found if not block.schemes & assumed]
        settled = [block for block in found if UNMEASURED_LOOP_SIZE not in block.prediction.lacking]
        more = {
            **numbers(found, len(measured)),
            "by_bound": by_bound(found),
            "own": numbers(own, len(measured)),
            "settled": numbers(settled, len(measured)),
            "nearest": numbers(predicted(model, measured, in_loop=in_loop, nearest=True), len(measured)),
            "simulated": by_simulation(found, len(measured)),
            "loop_code": len(model.loop_code),
            "per_second": blocks_per_second(model, [block for block, _ in measured], in_loop=in_loop),
            "cpu_seconds": round(cost.cpu, 1),
        }
        if in_loop:
            plain = replace(model, loop_code={})
            more["without_loop_code"] = numbers(predicted(plain, measured, in_loop=True), len(measured))
        yield Result(f"zen5-{name}", more.pop("mape"), "% MAPE", reference, more)


def recorded_model(effort: PMEvoSettings) -> tuple[CoreModel, frozenset[str]]:
    """Of what was recorded, ports inferred; with the schemes that it knows by others."""
    default, starter = zen5_results(*_DEFAULT), zen5_results(*_STARTER)
    explained, portless, _ = explained_mapping(default)
    mapping = merge(explained, explained, [evolved_mapping(starter, effort)])
    assert mapping is not None, "both sets have schemes in common"
    measured = {result.experiment: result.cycles for result in (*starter, *default) if result.cycles}
    loop_code = measured_loop_code(measured, lambda experiment: loop_size(experiment.terms), mapping)
    own = with_sums(mapping, dict.fromkeys(portless, ()))
    whole = completed(own)
    assumed = frozenset(whole.usage.keys() - own.usage.keys())
    return replace(zen5_core(), mapping=whole, alone={}, loop_code=loop_code), assumed


def explained_mapping(results: Sequence[Measured]) -> tuple[PortMapping, list[str], dict[str, float]]:
    """(mapping, schemes that need no port, {scheme whose ports were not found: cycles alone})."""
    schemes = tuple(sorted({scheme for result in results for scheme in result.experiment.schemes}))
    problem = ExplainProblem(
        schemes, ExplainSettings(), preferred=tuple(PREFERRED), domains=domains_of(schemes)
    )
    found = explain(problem, RecordedMeasurer(results), Silent(), 0, None, solve_by_cegar)
    full_rate = 1 / (found.r_max or inf)
    portless = [
        judged.scheme
        for judged in found.characterisations
        if judged.reason is NotCharacterised.NO_PORTS
        or (
            judged.reason is NotCharacterised.MISSING
            and judged.cycles is not None
            and judged.cycles <= _FULL_RATE * full_rate
        )
    ]
    alone = {
        judged.scheme: judged.cycles
        for judged in found.characterisations
        if judged.reason and judged.cycles is not None and judged.scheme not in portless
    }
    return found.mapping, portless, alone


def evolved_mapping(results: Sequence[Measured], effort: PMEvoSettings) -> PortMapping:
    """PMEvo's of the starter set."""
    times, source = recorded()
    schemes = tuple(sorted({scheme for experiment in times for scheme in experiment.schemes}))
    problem = PMEvoProblem(
        schemes, effort, forms=forms_among(schemes), domains=single_domains(schemes), core=source
    )
    return evolve(problem, RecordedMeasurer(results), Silent(), 0).mapping


def completed(mapping: PortMapping) -> PortMapping:
    """With the schemes that a core model knows by others, as `inference.storage.core_models` has them."""
    return with_sums(mapping, equivalent_schemes(mapping.usage))


def equivalent_schemes(schemes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """{scheme that cannot be measured: schemes that do the same work}, among those with similar mnemonics."""
    mnemonics = {scheme.partition(" ")[0].removeprefix("v") for scheme in schemes}
    legacy = [
        scheme.text
        for mnemonic in sorted(mnemonics)
        for scheme in schemes_of(mnemonic)
        if scheme.exclusion.startswith(LEGACY_SSE)
    ]
    return {text: same_work(text) for text in (*EQUIVALENT_SCHEMES, *legacy)}


def predicted(
    model: CoreModel, blocks: Sequence[tuple[Block, float]], *, in_loop: bool, nearest: bool = False
) -> list[PredictedBlock]:
    """The blocks of which the model describes all schemes."""
    assumed = Assumptions(in_loop=in_loop, nearest=nearest)
    predictor = CoreModelBlocks(model, assumed)
    found = (
        PredictedBlock(
            cycles,
            predictor.predict(block),
            frozenset(scheme for scheme, _ in block.terms),
            None if nearest else simulated_cycles(block, model, assumed),
        )
        for block, cycles in blocks
    )
    return [block for block in found if not block.prediction.unknown and block.prediction.cycles]


def blocks_per_second(model: CoreModel, blocks: Sequence[Block], *, in_loop: bool) -> int:
    """How many the model predicts per second of CPU; their schemes were seen before."""
    predictor = CoreModelBlocks(model, Assumptions(in_loop=in_loop))
    return round(len(blocks) / cost_of(lambda: [predictor.predict(block) for block in blocks]).cpu)


def simulated_cycles(block: Block, model: CoreModel, assumed: Assumptions) -> float | None:
    """None where the model does not allow a simulation."""
    return analyse(modelled(block, model, None, assumed, Changes())).simulated


def by_simulation(blocks: Sequence[PredictedBlock], number: int) -> Json:
    """The numbers of the simulation, and those of the bounds of the same blocks."""
    executed = [block for block in blocks if block.simulated]
    if not executed:
        return {}
    pairs = [(block.measured, block.simulated or 0.0) for block in executed]
    return {**numbers_of(pairs, number), "bounds": numbers(executed, number)}


def numbers(blocks: Sequence[PredictedBlock], number: int) -> Json:
    """How predictions do, and the share of the blocks that they are of."""
    return numbers_of([(block.measured, block.prediction.cycles) for block in blocks], number)


def numbers_of(pairs: Sequence[tuple[float, float]], number: int) -> Json:
    """The same of measured and predicted cycles."""
    measured, cycles = np.array(pairs).T
    errors = (cycles - measured) / measured
    scores = score(measured, cycles)
    return {
        "mape": round(scores.mape or 0.0, 2),
        "median": round(100 * float(np.median(np.abs(errors))), 2),
        "tau": round(scores.kendall or 0.0, 4),
        "above": round(100 * float(np.mean(errors > _ABOVE)), 2),
        "described": round(100 * len(pairs) / number, 1),
    }


def by_bound(blocks: Sequence[PredictedBlock]) -> Json:
    """{the bound that makes a prediction: [blocks, percentage points of the MAPE]}."""
    errors: defaultdict[str, list[float]] = defaultdict(list)
    for block in blocks:
        error = abs(block.prediction.cycles - block.measured) / block.measured
        errors[str(block.prediction.bounds[0].kind)].append(100 * error / len(blocks))
    return {kind: [len(parts), round(sum(parts), 2)] for kind, parts in sorted(errors.items())}

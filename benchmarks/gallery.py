"""The gallery's cores that are made of recorded and published measurements, and how good they are.

- Zen 5: 1,200 recorded blocks of SQLite, as in `recorded-blocks`, by ports inferred from all recorded sets.
- Zen 2: mixes that no search has seen.
- Skylake: the published mixes of five schemes, beside what uops.info's and PMEvo's published mappings make of
  them; learnt from are those of one to four.

With `PMWEB_GALLERY=write`, the files of the cores in the gallery are replaced. Published measurements stay
where they are: only the mapping inferred from them is written. `PMWEB_GALLERY_CORES` names a few of
`zen5 zen2 skylake`.

There is no Cortex-A72: the published measurements are of single instructions, which say how many cycles each
takes and nothing of the ports that it shares with others.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks import Result
from benchmarks._measured import cost_of
from benchmarks._published_data import block_rows, published, zen5_core, zen5_results
from benchmarks._silent import Silent
from benchmarks.recorded_blocks import (
    completed,
    equivalent_schemes,
    explained_mapping,
    numbers,
    predicted,
)
from benchmarks.scheduler import SECONDS
from benchmarks.starter_ports import recorded
from inference.core.core_model import CoreModel
from inference.core.core_model.loop_code import measured_loop_code
from inference.core.core_model.model import CoreScheduler
from inference.core.core_model.scheduler_experiments import operation_kinds, usable_experiments
from inference.core.core_model.scheduler_inference import MeasuredBody, infer_core_scheduler
from inference.core.evaluator import PortMappingModel, predicted_cycles
from inference.core.experiment import Experiment, Measured
from inference.core.identity import best_renaming
from inference.core.judging.selection import merge
from inference.core.mapping import PortMapping, uops_of, with_sums
from inference.core.metrics import score
from inference.core.pmevo import PMEvoProblem, PMEvoSettings
from inference.core.pmevo import infer as evolve
from inference.core.sampling import held_out_experiments
from inference.core.simulation.inferring import is_explained
from inference.core.simulation.steady_state import compile_simulation
from inference.core.tables import ExperimentTable, Floats
from inference.core.waste import WasteSource
from inference.features.library.gallery.query import (
    PartSource,
    RecordedCore,
    RecordedFigure,
    store_recording,
)
from inference.formats.parsing import AnyNames, parse
from inference.isa import x86
from inference.isa.blocks import block_of_bytes
from inference.isa.domains import forms_among, single_domains
from inference.isa.names import SchemeNames
from inference.isa.x86.bodies import body_accesses, loop_size
from inference.isa.x86.scheme_set import scheme_and_form
from inference.measuring.recorded import RecordedMeasurer

_HELD_OUT_SHARE = 0.2
_QUICK = {"starts": 1, "perturbations": 10}
_PLDI = "https://doi.org/10.1145/3385412.3385995"


@dataclass(frozen=True)
class InferredCore:
    """A core for the gallery, with the CPU seconds of its searches."""

    core: RecordedCore
    model: CoreModel
    cpu_seconds: float


def run(quick: bool) -> Iterator[Result]:
    """All cores; `quick` takes little effort for PMEvo's mappings."""
    effort = PMEvoSettings(**_QUICK) if quick else PMEvoSettings()  # type: ignore[arg-type]
    inferences = {"zen5": infer_zen5, "zen2": infer_zen2, "skylake": infer_skylake}
    chosen = os.environ.get("PMWEB_GALLERY_CORES", "").split() or list(inferences)
    for name in chosen:
        inferred = inferences[name](effort)
        if os.environ.get("PMWEB_GALLERY") == "write":
            store_recording(inferred.core, inferred.model)
        for figure in inferred.core.figures:
            more = {
                "items": figure.items,
                "predicted": figure.predicted,
                "median": figure.median,
                "tau": figure.kendall,
                "described": 0 if inferred.model.mapping is None else len(inferred.model.mapping.usage),
                "compared": dict(figure.compared),
                "cpu_seconds": round(inferred.cpu_seconds, 1),
            }
            reference = min(figure.compared.values(), default=None)
            yield Result(f"{name}: {figure.on}", figure.mape, "% MAPE", reference, more)


def infer_zen5(effort: PMEvoSettings) -> InferredCore:
    """Latencies and front end are those that were recorded with the core."""
    default = zen5_results("alone_pairs_floods.csv", "floods.csv")
    starter = zen5_results("starter.csv")
    train, held_out = _divided(starter, {result.experiment for result in default})
    _, source = recorded()
    cost = cost_of(lambda: _ports(default, train, effort, source))
    ports = cost.value
    measured = {result.experiment: result.cycles for result in (*train, *default) if result.cycles}
    loop_code = measured_loop_code(measured, lambda experiment: loop_size(experiment.terms), ports.mapping)
    own = ports.model()
    model = replace(zen5_core(), mapping=own.mapping, alone=own.alone, loop_code=loop_code)
    compile_simulation()
    scheduler, figures = _with_scheduler(model, train)
    core = RecordedCore(
        slug="zen-5",
        name="Recorded Zen 5",
        core="Zen 5",
        processor="AMD EPYC, a virtual machine with two cores",
        recorded=date(2026, 11, 28),
        measured="pmweb: default and starter set for ports, 2,445 schemes for latencies",
        figures=(*figures, _figure_of_mixes(ports.mapping, held_out)),
        sources=(
            _source_of_ports(len(default) + len(starter)),
            PartSource("latencies", "chains measured by pmweb"),
            PartSource("front end", "loops and straight code measured by pmweb"),
            PartSource("scheduler", scheduler.text),
        ),
    )
    return InferredCore(core, replace(model, scheduler=scheduler.scheduler), cost.cpu)


def infer_zen2(effort: PMEvoSettings) -> InferredCore:
    """Ports alone: nothing else was measured."""
    default, starter = (_zen2_results(name) for name in ("alone_pairs_floods.csv", "starter.csv"))
    train, held_out = _divided(starter, {result.experiment for result in default})
    cost = cost_of(lambda: _ports(default, train, effort, None))
    ports = cost.value
    core = RecordedCore(
        slug="zen-2",
        name="Recorded Zen 2",
        core="Zen 2",
        processor="AMD EPYC (family 17h, model 31h), a virtual core",
        recorded=date(2026, 11, 25),
        measured="pmweb: default and starter set for ports",
        figures=(_figure_of_mixes(ports.mapping, held_out),),
        sources=(_source_of_ports(len(default) + len(starter)),),
    )
    return InferredCore(core, ports.model(), cost.cpu)


def infer_skylake(effort: PMEvoSettings) -> InferredCore:
    """Ports alone, called as uops.info calls those that match best."""
    folder, file = published("pmevo/SKL"), "varying_length/len_{:02}.json"
    names = SchemeNames(scheme.text for scheme in x86.schemes())
    train = [
        result for length in range(1, 5) for result in _published_mixes(folder / file.format(length), names)
    ]
    schemes = _schemes_of(train)
    problem = PMEvoProblem(
        schemes,
        replace(effort, ports=9),
        forms=forms_among(schemes),
        domains=single_domains(schemes),
    )
    cost = cost_of(lambda: evolve(problem, RecordedMeasurer(train), Silent(), 0).mapping)
    documented = _published_mapping(folder / "mapping_uops_info.json", names)
    tools = {
        "uops.info": documented,
        "uops.info, 4 instructions per cycle": replace(documented, r_max=4.0),
        "PMEvo as published": _published_mapping(folder / "mapping_pmevo.json", names),
    }
    mapping = best_renaming(documented, cost.value).apply(cost.value)
    hidden = sum(not uops for uops in mapping.usage.values())
    figures = (
        replace(
            _figure_of_mixes(mapping, _published_mixes(folder / file.format(length), names), tools),
            on=f"published mixes of {length} schemes",
        )
        for length in (5, 15)
    )
    core = RecordedCore(
        slug="skylake",
        name="Inferred Skylake",
        core="Skylake",
        processor="Intel Core i7-6700",
        recorded=date(2020, 6, 15),
        measured=f"PMEvo's authors: {len(train):,} mixes of one to four of {len(schemes)} schemes",
        figures=tuple(figures),
        lacks="usual integer forms such as add r64, r64, which the published set does not have; "
        f"ports of {hidden} schemes that always fit beside four instructions per cycle",
        sources=(
            PartSource(
                "ports and slots",
                f"inferred by pmweb's PMEvo from {len(train):,} measurements that Ritter and Hack published; "
                "names of ports by the best match with uops.info's",
                _PLDI,
            ),
        ),
    )
    return InferredCore(core, CoreModel(completed(mapping)), cost.cpu)


@dataclass(frozen=True)
class JoinedPorts:
    """Explained µops, and PMEvo's of schemes that these leave out.

    `portless`: schemes that need no port. `alone`: {scheme whose ports were not found: cycles alone}.
    """

    mapping: PortMapping
    portless: Sequence[str]
    alone: Mapping[str, float]

    def model(self) -> CoreModel:
        """A core of these ports alone, with schemes that do the work of others."""
        sums = {**dict.fromkeys(self.portless, ()), **equivalent_schemes(self.mapping.usage)}
        times = {
            text: self.alone[first]
            for text, (first, *more) in equivalent_schemes(self.alone).items()
            if first in self.alone and not more
        }
        return CoreModel(with_sums(self.mapping, sums), alone={**times, **self.alone})


def _ports(
    default: Sequence[Measured], train: Sequence[Measured], effort: PMEvoSettings, source: WasteSource | None
) -> JoinedPorts:
    """Explained µops of the `default` set, and PMEvo's of the mixes to `train` by.

    Where both describe a scheme, explained µops count: each has witnesses, while PMEvo explains what a
    scheduler wastes by µops that do not exist.
    """
    explained, portless, alone = explained_mapping(default)
    schemes = _schemes_of(train)
    problem = PMEvoProblem(
        schemes, effort, forms=forms_among(schemes), domains=single_domains(schemes), core=source
    )
    evolved = evolve(problem, RecordedMeasurer(train), Silent(), 0).mapping
    mapping = merge(explained, explained, [_plausible(evolved)])
    assert mapping is not None, "both sets have schemes in common"
    return JoinedPorts(mapping, portless, alone)


def _plausible(mapping: PortMapping) -> PortMapping:
    """The mapping without schemes that access no memory and have more µops than slots."""
    usage = {
        text: uops
        for text, uops in mapping.usage.items()
        if "MEM[" in text or sum(count for _, count in uops) <= mapping.slots.get(text, 1)
    }
    return replace(
        mapping, usage=usage, slots={text: n for text, n in mapping.slots.items() if text in usage}
    )


def _source_of_ports(experiments: int) -> PartSource:
    text = f"{experiments:,} measurements by pmweb; explained µops, else PMEvo's"
    return PartSource("ports and slots", text)


@dataclass(frozen=True)
class SchedulerChoice:
    """A core's scheduler, or none, and why."""

    scheduler: CoreScheduler | None
    text: str


def _with_scheduler(
    model: CoreModel, train: Sequence[Measured]
) -> tuple[SchedulerChoice, tuple[RecordedFigure, ...]]:
    """The scheduler that recorded mixes show, if it explains loops clearly, and the figures of blocks.

    Of the code with dependences by which a profile judges a scheduler nothing was recorded: real blocks do.
    """
    usage = {} if model.mapping is None else model.mapping.usage
    cycles = {result.experiment: result.cycles for result in train if result.cycles}
    schemes = [pair[0] for text in usage if (pair := scheme_and_form(text)) is not None]
    kinds = operation_kinds(model, schemes)
    bodies = [
        MeasuredBody(row.experiment, *body_accesses(row.experiment.terms), cycles[row.experiment], row.group)
        for row in usable_experiments(cycles, kinds)
    ]
    ends = time.process_time() + SECONDS
    finding = infer_core_scheduler(model, bodies, kinds, lambda: time.process_time() < ends)
    without = tuple(_figures_of_blocks(model))
    if finding.scheduler is None:
        return SchedulerChoice(None, "none explains the recorded mixes better than ports and slots"), without
    figures = tuple(_figures_of_blocks(replace(model, scheduler=finding.scheduler)))
    old, new = without[-1].mape, figures[-1].mape
    if not is_explained(new / 100, old / 100):
        text = f"none: the best one of {len(bodies)} mixes explains too little of loops, {old} → {new} % off"
        return SchedulerChoice(None, text), without
    text = f"inferred from {len(bodies)} recorded mixes; without it, loops are {old} % off"
    return SchedulerChoice(finding.scheduler, text), figures


def _cycles(mapping: PortMapping, results: Sequence[Measured]) -> Floats:
    """float64[n], nan where the mapping does not describe an experiment."""
    table = ExperimentTable.from_experiments([result.experiment for result in results])
    return predicted_cycles(PortMappingModel(mapping), table)


def _divided(results: Sequence[Measured], used: set[Experiment]) -> tuple[list[Measured], list[Measured]]:
    """(those to learn from, a fifth of the mixes that are not among the `used` ones)."""
    drawn = held_out_experiments((result.experiment for result in results), _HELD_OUT_SHARE, seed=0) - used
    mixes = {experiment for experiment in drawn if not experiment.is_singleton}
    train = [result for result in results if result.experiment not in mixes]
    return train, [result for result in results if result.experiment in mixes]


def _figure_of_mixes(
    mapping: PortMapping, results: Sequence[Measured], tools: Mapping[str, PortMapping] | None = None
) -> RecordedFigure:
    measured = np.array([result.cycles for result in results], dtype=np.float64)
    cycles = _cycles(mapping, results)
    known = ~np.isnan(cycles)
    scores = score(measured[known], cycles[known])
    errors = np.abs(cycles[known] / measured[known] - 1)
    compared = {name: _cycles(other, results)[known] for name, other in (tools or {}).items()}
    return RecordedFigure(
        "held-out mixes of the starter set",
        len(results),
        int(known.sum()),
        round(scores.mape or 0.0, 2),
        round(100 * float(np.median(errors)), 2),
        None if scores.kendall is None else round(scores.kendall, 4),
        compared={
            name: round(score(measured[known], other).mape or 0.0, 2) for name, other in compared.items()
        },
    )


def _figures_of_blocks(model: CoreModel) -> Iterator[RecordedFigure]:
    blocks = [
        (block_of_bytes(bytes.fromhex(code)), (float(straight), float(loop)))
        for code, straight, loop in block_rows("zen5/blocks.csv")
    ]
    for on, in_loop in (("blocks of SQLite in straight code", False), ("blocks of SQLite in loops", True)):
        measured = [(block, cycles[in_loop]) for block, cycles in blocks if cycles[in_loop] > 0]
        described = predicted(model, measured, in_loop=in_loop)
        facts = numbers(described, len(measured))
        yield RecordedFigure(on, len(measured), len(described), facts["mape"], facts["median"], facts["tau"])


def _schemes_of(results: Sequence[Measured]) -> tuple[str, ...]:
    return tuple(sorted({scheme for result in results for scheme in result.experiment.schemes}))


def _zen2_results(name: str) -> list[Measured]:
    file = published(f"zen2/{name}")
    results = parse(file.read_bytes(), file.name, AnyNames()).measured
    return [result for result in results if result.usable and result.cycles]


def _published_mixes(file: Path, names: SchemeNames) -> list[Measured]:
    """Those whose schemes all have a name here."""
    mixes = []
    for entry in json.loads(file.read_text())["exps"]:
        schemes = [names.resolve(name) for name in entry["iseq"]]
        if all(schemes):
            mixes.append(Measured(Experiment.of(filter(None, schemes)), entry["result"]["cycles"]))
    return mixes


def _published_mapping(file: Path, names: SchemeNames) -> PortMapping:
    """Its ports are called by a digit each."""
    usage = {
        text: uops
        for name, uops in json.loads(file.read_text())["assignment"].items()
        if (text := names.resolve(name)) is not None
    }
    ports = sorted({port for uops in usage.values() for named in uops for port in named})
    bits = {port: 1 << bit for bit, port in enumerate(ports)}
    return PortMapping(
        tuple(ports),
        {
            text: uops_of((sum(bits[port] for port in named), 1) for named in uops)
            for text, uops in usage.items()
        },
    )

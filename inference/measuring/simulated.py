"""A simulated processor: a port mapping, the bottleneck beside its ports, noise, and occasional outliers.

It can have schemes that do not follow the port mapping model, as observed on Zen+ in thesis §6.3 (`Quirk`),
to test how algorithms treat them; and a scheduler that wastes time (`ScheduledCore`), which executes the
actual code of a harness.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import tee

import numpy as np

from inference.core.core_model.model import CoreModel
from inference.core.core_model.simulated_program import program_of
from inference.core.errors import InvalidInputError
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment, Measured, MeasurementState, OrderedExperiment
from inference.core.mapping import PortMapping, uops_of
from inference.core.protocols import Json, Measurer
from inference.core.schedule import schedule
from inference.core.simulation.program import SchedulerPolicy
from inference.core.simulation.steady_state import simulate
from inference.core.tables import ExperimentTable
from inference.core.throughput import inverse_throughput
from inference.core.tunables import check_choice
from inference.isa.dependences import InstructionAccesses
from inference.isa.machine_bodies import CannotMeasureError

BATCH_SIZE = 512  # experiments simulated at once
MIN_FACTOR = 0.01  # noise never makes a time zero or negative
_MAX_CACHED = 200_000  # exact times, for experiments that are measured again and again

SEQUENCER_UOPS = 4
"""µops that a microcode sequencer emits per cycle, while nothing else is decoded."""

_MIN_MICROCODE_UOPS = 6  # of a microcoded scheme, however few its mapping has
_WAIT_CYCLES = 0.3  # lost per instance of a scheme with the quirk `WAITS`
_SLOW_FACTOR = 1.5  # of the slower one of an unstable scheme's two speeds
_BUSY_CYCLES = 3  # cycles for which a unit that is not pipelined takes nothing else

NOTHING, UOPS, PORTS = "nothing", "uops", "ports"
COUNTERS = (NOTHING, UOPS, PORTS)
"""What a simulated processor can count: all executed µops, or those of each port as well."""

NOISE_OPTIONS = (
    "noise",
    "noise_cpi",
    "outlier_share",
    "outlier_factor",
    "odd_share",
    "counters",
)
"""Options of a simulation of experiments beside its mapping; see `SimulatedProcessor`."""

BLOCK_OPTIONS = ("zero_count_cycles",)
"""Further options of a simulated machine, which measures blocks too."""


class SimulatedProcessor:
    """Measures like a processor whose port mapping is known.

    A result depends on the seed, the repetition and the experiment alone, neither on the order nor on the
    number of measurements.

    Args:
        mapping: The true port mapping.
        noise: Standard deviation of a Gaussian factor around 1, in [0, 1).
        noise_cpi: Standard deviation of a Gaussian error in cycles per instruction, in [0, 1).
        outlier_share: Probability that a result is also multiplied by `outlier_factor`.
        outlier_factor: Finite and > 0.
        odd_share: Share of the schemes that misbehave, unless `quirks` names them.
        counters: One of `COUNTERS`.
        seed: Seed of noise and quirks.
        quirks: {scheme: its misbehaviour}.
        zero_count_cycles: Additional cycles of a shift by `cl` where that is 0, in blocks; experiments have
            none such.
        core: Its scheduler and latencies, with the same mapping. Times are then those of its scheduler with
            the harness's code, instead of the least that ports and slots allow.

    Raises:
        InvalidInputError: For parameters out of range.
    """

    def __init__(
        self,
        mapping: PortMapping,
        *,
        noise: float = 0.0,
        noise_cpi: float = 0.0,
        outlier_share: float = 0.0,
        outlier_factor: float = 2.0,
        odd_share: float = 0.0,
        counters: str = NOTHING,
        seed: int = 0,
        quirks: Mapping[str, Quirk] | None = None,
        zero_count_cycles: float = 0.0,
        core: ScheduledCore | None = None,
    ) -> None:
        if not 0 <= noise < 1:
            raise InvalidInputError(f"noise is a standard deviation in [0, 1), not {noise!r}")
        if not 0 <= noise_cpi < 1:
            raise InvalidInputError(f"noise_cpi is a standard deviation in [0, 1), not {noise_cpi!r}")
        for name, share in (("outlier_share", outlier_share), ("odd_share", odd_share)):
            if not 0 <= share <= 1:
                raise InvalidInputError(f"{name} is a probability in [0, 1], not {share!r}")
        if not (math.isfinite(outlier_factor) and outlier_factor > 0):
            raise InvalidInputError(f"outlier_factor must be a finite number > 0, not {outlier_factor!r}")
        check_choice("counters", counters, COUNTERS)
        self._noise = noise
        self._noise_cpi = noise_cpi
        self._outlier_share = outlier_share
        self._outlier_factor = outlier_factor
        self._odd_share = odd_share
        self._counters = counters
        self._seed = seed
        self._chosen = quirks is not None
        self.zero_count_cycles = zero_count_cycles
        self._repetition = 0
        self.quirks = sample_quirks(mapping, odd_share, seed) if quirks is None else dict(quirks)
        self._truth = mapping
        self._core = core
        self._mapping = with_busy_ports(mapping, self.quirks)
        self._uops = {scheme: sum(count for _, count in uops) for scheme, uops in mapping.usage.items()}
        self._exact: dict[Experiment, float] = {}
        self._counted: dict[Experiment, dict[str, float]] = {}

    @property
    def identity(self) -> Json:
        """The mapping's digest and every parameter of the noise."""
        truth = self._truth
        content = repr((truth.ports, sorted(truth.usage.items()), truth.r_max))
        if truth.issue_width is not None:
            content += repr((truth.issue_width, sorted(truth.slots.items())))
        parameters: Json = {
            "kind": "simulated",
            "mapping": hashlib.sha256(content.encode()).hexdigest(),
            "noise": self._noise,
            "outlier_share": self._outlier_share,
            "outlier_factor": self._outlier_factor,
            "seed": self._seed,
        }
        later = {
            "noise_cpi": self._noise_cpi,
            "odd_share": self._odd_share,
            "quirks": sorted(self.quirks.items()) if self._chosen else None,
            "counters": "" if self._counters == NOTHING else self._counters,
            "repetition": self._repetition,
            "core": "" if self._core is None else self._core.identity,
            "zero_count_cycles": self.zero_count_cycles,
        }
        return parameters | {name: value for name, value in later.items() if value}

    def offers(self) -> Sequence[Experiment] | None:
        """None: any experiment of the mapping's schemes can be measured."""
        return None

    def repetition(self, number: int) -> SimulatedProcessor:
        """The same processor with independent noise."""
        other = copy.copy(self)
        other._repetition = number
        return other

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """Simulated cycles; an experiment with a scheme without port usage, or without any time, fails."""
        source = iter(experiments)
        while batch := list(itertools.islice(source, BATCH_SIZE)):
            self._simulate(batch)
            yield from map(self._observe, batch)

    def _simulate(self, batch: Sequence[Experiment]) -> None:
        """Compute the exact times of these experiments."""
        if len(self._exact) > _MAX_CACHED:
            self._exact.clear()
            self._counted.clear()
        new = [e for e in batch if e not in self._exact and all(s in self._mapping.usage for s in e.schemes)]
        rests = {e: without_microcode(e, self.quirks) for e in new}
        residues = sorted({residue for residue in rests.values() if residue is not None})
        exact: dict[Experiment | None, float] = {None: 0.0}
        if residues and self._core is not None:
            exact |= {experiment: self._scheduled_cycles(self._core, experiment) for experiment in residues}
        elif residues:
            schemes = sorted({scheme for e in residues for scheme in e.schemes})
            mapping = self._mapping.restricted(schemes)
            evaluator = Evaluator(ExperimentTable.from_experiments(residues, schemes), len(mapping.ports))
            exact |= dict(zip(residues, evaluator.mapping_cycles(mapping).tolist(), strict=True))
        self._exact |= {experiment: exact[residue] for experiment, residue in rests.items()}

    @staticmethod
    def _scheduled_cycles(core: ScheduledCore, experiment: Experiment) -> float:
        """Cycles on the core; 0 for code that cannot be made, which takes no measurable time."""
        try:
            return core.cycles(experiment)
        except CannotMeasureError:
            return 0.0

    def _observe(self, experiment: Experiment) -> Measured:
        """One noisy result; its randomness depends on seed, repetition and experiment alone."""
        cycles = self._exact.get(experiment)
        if cycles is None:
            unknown = [scheme for scheme in experiment.schemes if scheme not in self._mapping.usage]
            return Measured(
                experiment,
                None,
                MeasurementState.FAILED,
                note=f"the simulated processor does not know {'; '.join(unknown)}",
            )
        content = f"{self._seed} {experiment.terms!r}"
        if self._repetition:
            content = f"{self._repetition} {content}"
        random = np.random.default_rng(
            int.from_bytes(hashlib.blake2b(content.encode(), digest_size=16).digest())
        )
        factor = max(MIN_FACTOR, 1 + self._noise * random.standard_normal())
        if random.random() < self._outlier_share:
            factor *= self._outlier_factor
        if self.quirks:
            cycles = slowed_down(experiment, cycles, self.quirks, self._uops, random.random())
        if cycles <= 0:
            return Measured(
                experiment, None, MeasurementState.FAILED, note="uses no port: takes no measurable time"
            )
        observed = cycles * factor
        if self._noise_cpi:
            error = self._noise_cpi * experiment.length * random.standard_normal()
            observed = max(MIN_FACTOR * cycles, observed + error)
        return Measured(experiment, observed, counters=self._count(experiment))

    def _count(self, experiment: Experiment) -> dict[str, float]:
        """The counters: they count executed µops, not those that only block a port."""
        if self._counters == NOTHING:
            return {}
        counters = self._counted.get(experiment)
        if counters is None:
            counters = {"uops": float(sum(count * self._uops[scheme] for scheme, count in experiment.terms))}
            if self._counters == PORTS:
                loads = schedule(self._truth, experiment).loads
                counters |= {
                    f"port {port}": load for port, load in zip(self._truth.ports, loads, strict=True)
                }
            self._counted[experiment] = counters
        return dict(counters)


class UnorderedMeasurer:
    """A measurer that treats an `OrderedExperiment` as the multiset of its instructions."""

    def __init__(self, measurer: Measurer) -> None:
        self._measurer = measurer

    @property
    def identity(self) -> Json:
        return self._measurer.identity

    def offers(self) -> Sequence[Experiment] | None:
        return self._measurer.offers()

    def measure(self, experiments: Iterable[Experiment]) -> Iterator[Measured]:
        """One result per experiment, in order."""
        originals, inputs = tee(experiments)
        results = self._measurer.measure(
            item.multiset if isinstance(item, OrderedExperiment) else item for item in inputs
        )
        for experiment, result in zip(originals, results, strict=True):
            yield replace(result, experiment=experiment)


class Quirk(StrEnum):
    TWO_SPEEDS = "two speeds"  # conditional moves, conversions: unstable beside other instructions
    NOT_PIPELINED = "not pipelined"  # divisions, square roots: slower than the ports permit
    THIRD_PORT = "third port"  # fused multiply-add: keeps the data lines of another port busy
    WAITS = "waits"  # scalar multiplication: 4*add; 1*imul takes 1.5 cycles, neither 1.0 nor 1.25
    MICROCODE = "microcode"  # horizontal additions, bit scans: stops everything else while it is decoded


def sample_quirks(mapping: PortMapping, share: float, seed: int) -> dict[str, Quirk]:
    """{scheme: quirk} for this share of the mapping's schemes, with quirks in turn.

    The same seed gives the same quirks.
    """
    schemes = sorted(scheme for scheme, uops in mapping.usage.items() if uops)
    sample = random.Random(seed).sample(schemes, round(share * len(schemes)))  # noqa: S311  no secret
    kinds = list(Quirk)
    return {scheme: kinds[k % len(kinds)] for k, scheme in enumerate(sample)}


def with_busy_ports(mapping: PortMapping, quirks: Mapping[str, Quirk]) -> PortMapping:
    """The mapping with an additional port for schemes with `Quirk.THIRD_PORT`."""
    usage = dict(mapping.usage)
    for scheme, quirk in quirks.items():
        if quirk is Quirk.THIRD_PORT:
            ports = 0
            for mask, _ in usage[scheme]:
                ports |= mask
            other = next((1 << k for k in range(len(mapping.ports)) if not ports >> k & 1), 1)
            usage[scheme] = uops_of([*usage[scheme], (other, 1)])
    return dataclasses.replace(mapping, usage=usage)


def without_microcode(experiment: Experiment, quirks: Mapping[str, Quirk]) -> Experiment | None:
    """The part of the experiment that is executed while the sequencer is idle; None for nothing."""
    counts = {text: count for text, count in experiment.terms if quirks.get(text) is not Quirk.MICROCODE}
    return Experiment.of(counts) if counts else None


def slowed_down(
    experiment: Experiment, cycles: float, quirks: Mapping[str, Quirk], uops: Mapping[str, int], chance: float
) -> float:
    """The cycles of an experiment with its quirks.

    Args:
        experiment: The experiment.
        cycles: Its cycles without quirks.
        quirks: {scheme: its quirk}.
        uops: {scheme: number of µops}.
        chance: From [0, 1); decides between two speeds.
    """
    mixed = len(experiment.terms) > 1
    for scheme, count in experiment.terms:
        quirk = quirks.get(scheme)
        if quirk is Quirk.NOT_PIPELINED:
            cycles = max(cycles, count * (_BUSY_CYCLES + uops[scheme]))
        elif quirk is Quirk.WAITS and mixed:
            cycles += _WAIT_CYCLES * count
        elif quirk is Quirk.MICROCODE:
            cycles += count * max(_MIN_MICROCODE_UOPS, uops[scheme]) / SEQUENCER_UOPS
    unstable = any(quirks.get(scheme) is Quirk.TWO_SPEEDS for scheme, _ in experiment.terms)
    return cycles * _SLOW_FACTOR if unstable and mixed and chance < 0.5 else cycles


ExperimentBody = tuple[Sequence[InstructionAccesses], int]
"""The instructions of a loop body, and the number of copies of the experiment in it."""


@dataclass(frozen=True)
class ScheduledCore:
    """The true properties of a simulated core.

    Args:
        model: Its µops and latencies.
        policy: Its scheduler.
        width: Slots that it dispatches per cycle.
        body: The loop body of an experiment. Raises `inference.isa.machine_bodies.CannotMeasureError`.
        memory_ports: Bit mask of ports that only load or store.
        optimal_ports: Bit mask of ports over which the scheduler distributes µops optimally, as a Zen 5 does
            with those of vectors.
    """

    model: CoreModel
    policy: SchedulerPolicy
    width: int
    body: Callable[[Experiment], ExperimentBody]
    memory_ports: int = 0
    optimal_ports: int = 0

    @property
    def identity(self) -> str:
        """A digest of everything that changes its times, except the code of `body`."""
        assert self.model.mapping is not None, "a simulated core needs ports"
        latencies = sorted((scheme, sorted(pairs.items())) for scheme, pairs in self.model.latencies.items())
        facts: tuple[object, ...] = self.model.mapping.digest, latencies, self.policy, self.width
        facts += self.memory_ports, self.optimal_ports
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def cycles(self, experiment: Experiment) -> float:
        """Cycles per execution of the experiment.

        Raises:
            CannotMeasureError: See `inference.isa.machine_bodies`.
            UndescribedSchemeError: See `inference.core.core_model.simulated_program`.
        """
        accesses, copies = self.body(experiment)
        simulated = self.cycles_of(accesses) / copies
        if not self.optimal_ports:
            return simulated
        assert self.model.mapping is not None
        return max(simulated, inverse_throughput(self.model.mapping, experiment))

    def cycles_of(self, code: Sequence[InstructionAccesses]) -> float:
        """Cycles per iteration of code in a loop, for which µops on `optimal_ports` only wait.

        Raises:
            UndescribedSchemeError: See `inference.core.core_model.simulated_program`.
        """
        program = program_of(
            code, self.model, self.width, self.memory_ports, simulated_ports=~self.optimal_ports
        )
        return simulate(program, self.policy).cycles

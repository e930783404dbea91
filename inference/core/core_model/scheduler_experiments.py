"""Experiments and blocks that distinguish schedulers.

A scheduler shows where µops could have been distributed better than they were: among operations whose ports
are some of those of the most flexible ones, whose results return after different times, and that read what
they write or do not. Experiments have such operations of one µop, alone and combined; operations are
characterised by their µops, latencies and operands alone.

Dependent blocks show whether a policy holds where instructions wait for each other. They are made at random
from the operations of the experiments, and used where the ports of these limit them: elsewhere a scheduler is
not simulated. They are more similar to compiled code than the experiments are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from random import Random

from inference.core.core_model.bounds import predict_core
from inference.core.core_model.dependences import DependenceGraph
from inference.core.core_model.model import CoreModel, chained_latency
from inference.core.core_model.prediction import LIMITING_SHARE, BoundKind, shape_of
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.isa.block_facets import DependentBlockMaker
from inference.isa.blocks import Block, accesses_of, block_of_bytes
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.scheme import Scheme
from inference.isa.targets import code_target

MAX_EXPERIMENTS = 160
"""About 50 ms of simulation, of half of them for each policy of a search."""
_PER_GROUP = 2
"""Experiments of each group: one helps to choose a policy, the other to judge it."""
_MAX_PORT_SETS = 4
_MAX_KINDS = 9
_MAX_LENGTH = 14
"""Instructions of an experiment: of more, a loop body has too few copies for its registers to alternate."""
_MAX_LATENCY = 8.0
_INTEGER_TOLERANCE = 0.15

MAX_BLOCKS = 96
"""Half of them choose: with 24, policies of six random cores overstated up to 17 % of other blocks, with 48
up to 6, and with 100 no less.
"""
_MAX_DRAWS = 20 * MAX_BLOCKS
_MIN_INSTRUCTIONS, _MAX_INSTRUCTIONS = 2, 8


class OperandRole(StrEnum):
    UPDATES = "updates"  # reads a register and writes it
    WRITES = "writes"  # writes a register that it does not read
    READS = "reads"  # writes none


@dataclass(frozen=True, slots=True, order=True)
class OperationKind:
    """Operations of one µop for these `ports` (a mask), with one latency and one role."""

    ports: int
    latency: int
    role: OperandRole

    @property
    def text(self) -> str:
        """E.g. `updates 0b111, 3 cycles`."""
        return f"{self.role} {self.ports:#b}, {self.latency} cycles"


@dataclass(frozen=True, slots=True)
class GroupedExperiment:
    """An experiment and its `group`: experiments in it differ only by schemes of the same kinds."""

    experiment: Experiment
    group: str


def operation_kinds(model: CoreModel, schemes: Iterable[Scheme]) -> dict[str, OperationKind]:
    """{scheme: its kind} of operations of one µop whose ports are some of those of the most flexible ones.

    Schemes are left out that need memory, wait for a fixed register or flags, or whose latency is unknown or
    not whole. Empty without ports.
    """
    mapping = model.mapping
    if mapping is None:
        return {}
    kinds = {scheme.text: kind for scheme in schemes if (kind := _kind(scheme, model, mapping)) is not None}
    quick = Counter(kind.ports for kind in kinds.values() if kind.latency == 1)
    if not quick:
        return {}
    widest = max(quick, key=lambda ports: (ports.bit_count(), quick[ports], ports))
    return {text: kind for text, kind in kinds.items() if not kind.ports & ~widest}


def scheduler_experiments(kinds: Mapping[str, OperationKind]) -> list[GroupedExperiment]:
    """At most `MAX_EXPERIMENTS` experiments, the most informative groups first: kinds alone, in pairs, as
    many of each as they have ports, in threes, two beside one.
    """
    schemes: defaultdict[OperationKind, list[str]] = defaultdict(list)
    for text, kind in sorted(kinds.items(), key=lambda entry: (len(entry[0]), entry[0])):
        schemes[kind].append(text)
    schemes_by_kind = {kind: schemes[kind] for kind in _chosen_kinds(schemes)}
    experiments: dict[Experiment, GroupedExperiment] = {}
    for counts in _groups(list(schemes_by_kind)):
        group = _group_text(counts)
        for instance in range(_PER_GROUP):
            terms = {
                schemes_by_kind[kind][instance % len(schemes_by_kind[kind])]: count
                for kind, count in counts.items()
            }
            experiment = Experiment.of(terms)
            experiments.setdefault(experiment, GroupedExperiment(experiment, group))
    return list(experiments.values())[:MAX_EXPERIMENTS]


def usable_experiments(
    experiments: Iterable[Experiment], kinds: Mapping[str, OperationKind]
) -> list[GroupedExperiment]:
    """Existing experiments that consist of such operations, a few of every group."""
    groups: defaultdict[str, list[Experiment]] = defaultdict(list)
    for experiment in experiments:
        if experiment.length <= _MAX_LENGTH and all(scheme in kinds for scheme in experiment.schemes):
            counts: Counter[OperationKind] = Counter()
            for scheme, count in experiment.terms:
                counts[kinds[scheme]] += count
            groups[_group_text(counts)].append(experiment)
    turns = max(map(len, groups.values()), default=0)
    in_turn = (
        GroupedExperiment(members[turn], group)
        for turn in range(turns)
        for group, members in groups.items()
        if turn < len(members)
    )
    return [experiment for experiment, _ in zip(in_turn, range(MAX_EXPERIMENTS), strict=False)]


def _kind(scheme: Scheme, model: CoreModel, mapping: PortMapping) -> OperationKind | None:
    uops = mapping.usage.get(scheme.text, ())
    if len(uops) != 1 or uops[0][1] != 1 or scheme.memory or scheme.text in model.moves:
        return None
    if any(operand.registers and "R" in operand.access for operand in scheme.operands):
        return None  # all copies would wait for each other
    latency = chained_latency(model, scheme.text)
    if latency is None or latency > _MAX_LATENCY or abs(latency - round(latency)) > _INTEGER_TOLERANCE:
        return None
    accesses = [operand.access for operand in scheme.operands if operand.kind == "register"]
    if "RW" in accesses:
        role = OperandRole.UPDATES
    else:
        role = OperandRole.WRITES if "W" in accesses else OperandRole.READS
    return OperationKind(uops[0][0], max(1, round(latency)), role)


def _chosen_kinds(schemes: Mapping[OperationKind, Sequence[str]]) -> list[OperationKind]:
    """The kinds with the most schemes, of the port sets with the most; at least one for each of these."""
    by_ports: Counter[int] = Counter()
    for kind, members in schemes.items():
        by_ports[kind.ports] += len(members)
    ranked = sorted(schemes, key=lambda kind: (-len(schemes[kind]), kind))
    of_ports = [
        [kind for kind in ranked if kind.ports == ports] for ports, _ in by_ports.most_common(_MAX_PORT_SETS)
    ]
    longest = max(map(len, of_ports), default=0)
    in_turn = [members[turn] for turn in range(longest) for members in of_ports if turn < len(members)]
    return in_turn[:_MAX_KINDS]


def _groups(kinds: Sequence[OperationKind]) -> Iterator[Mapping[OperationKind, int]]:
    yield from ({kind: 1} for kind in kinds)
    yield from ({first: 1, second: 1} for first, second in combinations(kinds, 2))
    for first, second in combinations(kinds, 2):
        counts = {first: first.ports.bit_count(), second: second.ports.bit_count()}
        if first.ports != second.ports and sum(counts.values()) <= _MAX_LENGTH:
            yield counts
    yield from (
        dict.fromkeys(three, 1)
        for three in combinations(kinds, 3)
        if len({kind.ports for kind in three}) == 3
    )
    for first, second in combinations(kinds, 2):
        yield {first: 2, second: 1}
        yield {first: 1, second: 2}


def _group_text(counts: Mapping[OperationKind, int]) -> str:
    return "; ".join(f"{count} × {kind.text}" for kind, count in sorted(counts.items()))


def dependent_blocks(
    isa: str, model: CoreModel, kinds: Mapping[str, OperationKind], seed: int
) -> list[Block]:
    """At most `MAX_BLOCKS` blocks of the operations; equal seeds give equal blocks of the same model.

    Args:
        isa: The instruction set; without a maker of dependent blocks, there are none.
        model: The known properties of the core; its scheduler is ignored.
        kinds: {scheme: its kind}.
        seed: Seed of the random choices.
    """
    maker = code_target(isa).dependent_blocks
    if maker is None or model.mapping is None or not kinds:
        return []
    dice = Random(seed)  # noqa: S311  no secret
    blocks: dict[str, Block] = {}
    for block in _random_blocks(isa, maker, kinds, dice):
        if len(blocks) == MAX_BLOCKS:
            break
        if is_port_limited(block, model):
            blocks.setdefault(block.hex, block)
    return [*blocks.values()]


def is_port_limited(block: Block, model: CoreModel) -> bool:
    """Whether ports limit the block, and some of its instructions wait for others."""
    accesses = accesses_of(block, equal_start=True)
    prediction = predict_core(accesses, shape_of(block, in_loop=True), model, (BoundKind.SCHEDULER,))
    ports = (bound.cycles for bound in prediction.bounds if bound.kind is BoundKind.PORTS)
    if prediction.unknown or next(ports, 0.0) < LIMITING_SHARE * prediction.cycles:
        return False
    graph = DependenceGraph(accesses, model)
    return any(graph.nodes[edge.source][0] != graph.nodes[edge.target][0] for edge in graph.edges)


def _random_blocks(
    isa: str, maker: DependentBlockMaker, kinds: Mapping[str, OperationKind], dice: Random
) -> Iterator[Block]:
    """Random blocks; kinds of many ports are more frequent, so that all ports have about as much work."""
    schemes: defaultdict[OperationKind, list[str]] = defaultdict(list)
    for text, kind in sorted(kinds.items()):
        schemes[kind].append(text)
    choices = sorted(schemes)
    weights = [kind.ports.bit_count() for kind in choices]
    for _ in range(_MAX_DRAWS):
        number = dice.randint(_MIN_INSTRUCTIONS, _MAX_INSTRUCTIONS)
        texts = [dice.choice(schemes[kind]) for kind in dice.choices(choices, weights, k=number)]
        try:
            yield block_of_bytes(maker.dependent_block(texts, dice), isa)
        except CannotMeasureError:
            continue

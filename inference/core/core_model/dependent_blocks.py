"""Blocks that show whether a scheduler's policy holds where instructions wait for each other.

They are drawn by chance from the operations of its experiments, and kept where the ports of these limit them:
elsewhere a scheduler is not simulated. Compiled code looks so more than the experiments do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from random import Random

from inference.core.core_model.blocks import shape_of
from inference.core.core_model.bounds import predict_core
from inference.core.core_model.dependences import DependenceGraph
from inference.core.core_model.model import CoreModel
from inference.core.core_model.prediction import LIMITING, BoundKind
from inference.core.core_model.scheduler_experiments import OperationKind
from inference.isa.blocks import Block, accesses_of, block_of_bytes
from inference.isa.facets import DependentBlockMaker
from inference.isa.machine_bodies import CannotMeasureError
from inference.isa.targets import code_target

MOST_BLOCKS = 96
"""Half of them choose: with 24, policies of six drawn cores overstated up to 17 % of other blocks, with 48 up
to 6, and with 100 no less."""
_MOST_DRAWS = 20 * MOST_BLOCKS
_FEWEST_INSTRUCTIONS, _MOST_INSTRUCTIONS = 2, 8


def dependent_blocks(
    isa: str, model: CoreModel, kinds: Mapping[str, OperationKind], seed: int
) -> list[Block]:
    """At most `MOST_BLOCKS` of the operations; equal seeds give equal blocks of the same model.

    Args:
        isa: The instruction set; without dependent blocks, there are none.
        model: What is known of the core; its scheduler counts for nothing.
        kinds: {scheme: its kind}.
        seed: Of what is drawn.
    """
    maker = code_target(isa).dependent_blocks
    if maker is None or model.mapping is None or not kinds:
        return []
    dice = Random(seed)  # noqa: S311  no secret
    telling: dict[str, Block] = {}
    for block in _random_blocks(maker, kinds, dice):
        if len(telling) == MOST_BLOCKS:
            break
        if is_telling(block, model):
            telling.setdefault(block.hex, block)
    return [*telling.values()]


def is_telling(block: Block, model: CoreModel) -> bool:
    """Whether ports limit the block, and some of its instructions wait for others."""
    accesses = accesses_of(block, alike=True)
    prediction = predict_core(accesses, shape_of(block, in_loop=True), model, (BoundKind.SCHEDULER,))
    ports = (bound.cycles for bound in prediction.bounds if bound.kind is BoundKind.PORTS)
    if prediction.unknown or next(ports, 0.0) < LIMITING * prediction.cycles:
        return False
    graph = DependenceGraph(accesses, model)
    return any(graph.nodes[edge.source][0] != graph.nodes[edge.target][0] for edge in graph.edges)


def _random_blocks(
    maker: DependentBlockMaker, kinds: Mapping[str, OperationKind], dice: Random
) -> Iterator[Block]:
    """Kinds of many ports come more often: so all ports have about as much to do."""
    schemes: defaultdict[OperationKind, list[str]] = defaultdict(list)
    for text, kind in sorted(kinds.items()):
        schemes[kind].append(text)
    choices = sorted(schemes)
    weights = [kind.ports.bit_count() for kind in choices]
    for _ in range(_MOST_DRAWS):
        number = dice.randint(_FEWEST_INSTRUCTIONS, _MOST_INSTRUCTIONS)
        texts = [dice.choice(schemes[kind]) for kind in dice.choices(choices, weights, k=number)]
        try:
            yield block_of_bytes(maker.dependent_block(texts, dice))
        except CannotMeasureError:
            continue

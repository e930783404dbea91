"""What a core model says about each instruction of a block."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.core_model.dependences import ChainStep, DependenceGraph
from inference.core.core_model.model import CoreModel
from inference.core.core_model.port_work import Work
from inference.core.core_model.prediction import SchemeSubstitution, is_nop, own_jumps, paired_nops
from inference.core.loop.modelled import ModelledBlock
from inference.core.loop.values import InstructionAnalysis, UnknownPart
from inference.core.mapping import Uops, uops_of
from inference.isa.dependences import InstructionAccesses

FUSED = "fused with the next"


def instructions_of(
    modelled: ModelledBlock, chain: Sequence[ChainStep]
) -> tuple[tuple[InstructionAnalysis, ...], tuple[float, ...]]:
    """The instructions of the listing, and the cycles of each port: the sums over the instructions.

    Args:
        modelled: The block.
        chain: Its critical chain.
    """
    block, model, works = modelled.accesses, modelled.model, modelled.works
    pressures, loads = modelled.pressures, modelled.port_loads
    assumed = _places_of_unknown_latency(modelled.graph)
    fused, slots = modelled.fused, _slots(modelled)
    rows = []
    for place, (instruction, text) in enumerate(modelled.block.listing):
        accesses = block[place] if place < len(block) else None
        steps = [step.cycles for step in chain if step.instruction == place]
        scheme = instruction.scheme or ""
        rows.append(
            InstructionAnalysis(
                text,
                scheme,
                len(instruction.code),
                _uops(scheme, works[place], model),
                pressures[place],
                slots[place],
                sum(steps) if steps else None,
                _latency(accesses, model) if accesses is not None else None,
                _unknown_parts(modelled, place, assumed, slots[place]),
                _substitution(modelled, scheme, accesses),
                FUSED if place in fused else _note(accesses, model) if accesses is not None else "",
            )
        )
    return tuple(rows), loads


def _places_of_unknown_latency(graph: DependenceGraph) -> frozenset[int]:
    """The instructions with an unknown latency to a result that the block reads."""
    read = {edge.source for edge in graph.edges}
    return frozenset(
        graph.nodes[edge.target][0] for edge in graph.edges if edge.target in read and graph.is_assumed(edge)
    )


def _unknown_parts(
    modelled: ModelledBlock, place: int, assumed: frozenset[int], slots: float | None
) -> tuple[UnknownPart, ...]:
    parts = []
    if place in unmapped_places(modelled):
        parts += [UnknownPart.PORTS] if slots is not None else [UnknownPart.PORTS, UnknownPart.SLOTS]
    if place in assumed:
        parts.append(UnknownPart.LATENCY)
    return tuple(parts)


def unmapped_places(modelled: ModelledBlock) -> frozenset[int]:
    """The instructions whose ports are not known.

    Without the loop's own jump: no measurement shows its ports, and that of taken branches limits it.
    """
    return frozenset(
        place for place, work in enumerate(modelled.works[: len(modelled.accesses)]) if work is None
    )


def _substitution(
    modelled: ModelledBlock, scheme: str, accesses: InstructionAccesses | None
) -> SchemeSubstitution | None:
    """What stands for a scheme, in one value; without latencies where the instruction waits for nothing."""
    substitutions = [
        substitution
        for substitution in modelled.substitutions.get(scheme, ())
        if substitution.parts != ("latencies",) or (accesses is not None and accesses.reads)
    ]
    if len(substitutions) < 2:
        return substitutions[0] if substitutions else None
    return SchemeSubstitution(
        scheme,
        " and ".join(substitution.nearest for substitution in substitutions),
        "; ".join(dict.fromkeys(substitution.differs for substitution in substitutions)),
        tuple(part for substitution in substitutions for part in substitution.parts),
    )


def _uops(scheme: str, work: Work | None, model: CoreModel) -> Uops | None:
    if work is None or model.mapping is None:
        return None
    jump = uops_of((mask, round(uops)) for mask, uops in work.items())  # its scheme is one of several
    return model.mapping.usage.get(scheme, jump) if work else ()


def _latency(accesses: InstructionAccesses, model: CoreModel) -> float | None:
    if accesses.latency is not None:
        return accesses.latency
    if accesses.scheme in model.moves:
        return 0.0
    latencies = [cycles for cycles in model.latencies_of(accesses).values() if cycles is not None]
    return max(0.0, *latencies) if latencies else None


def _note(accesses: InstructionAccesses, model: CoreModel) -> str:
    scheme = accesses.scheme or ""
    is_idiom = accesses.same_register
    if accesses.latency is not None:
        return f"latency {accesses.latency:g}, given"
    if scheme in model.moves:
        return "eliminated"
    if is_idiom and scheme in model.portless:
        return "no port: equal registers"
    if is_idiom and scheme in model.free:
        return "waits for nothing: equal registers"
    if model.mapping is not None and scheme not in model.mapping.usage and scheme in model.alone:
        values = ", with the values measured" if accesses.by_values else ""
        return f"takes {model.alone[scheme]:.2f} cycles alone{values}"
    return ""


def _slots(modelled: ModelledBlock) -> list[float | None]:
    """Issue slots of each instruction of the listing."""
    model, mapping, block = modelled.model, modelled.model.mapping, modelled.accesses
    slots: list[float | None] = []
    nops = [place for place, row in enumerate(block) if is_nop(row)]
    per_nop = 1.0 - paired_nops(block, model) / len(nops) if nops else 1.0
    for place, instruction in enumerate(block):
        is_known = mapping is not None and (
            modelled.works[place] is not None or instruction.scheme in model.alone
        )
        if not is_known or mapping is None:
            slots.append(None)
        elif place in modelled.fused and place < len(block) - 1:
            slots.append(0.0)
        elif place in nops:
            slots.append(per_nop)
        else:
            slots.append(
                1.0 if mapping.issue_width is None else float(mapping.slots_of(instruction.scheme or ""))
            )
    if len(modelled.works) > len(block):
        is_known = model.front_end is not None and model.front_end.fused is not None
        slots.append(float(own_jumps(modelled.shape, model)) if is_known else None)
    return slots

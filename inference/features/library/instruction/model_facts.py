"""What the value of a core model says about a form, and the conditions under which that holds, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inference.core.core_model import CoreModel, FrontEndLimits
from inference.core.core_model.dependences import AT_MOST_BASIS
from inference.core.experiment import Experiment
from inference.core.latency import IdiomKind
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput
from inference.features.library.instruction.evidence import AloneTime, FormLatency, FormOnCpu, documents_of
from inference.models import InstructionScheme

_IDIOMS = {
    IdiomKind.BREAKING: "with equal registers it waits for nothing",
    IdiomKind.ZEROING: "with equal registers it waits for nothing and needs no port",
    IdiomKind.ELIMINATED: "no latency and no port",
    IdiomKind.QUICKER: "{latency:.2f} cycles to {destination}",
    IdiomKind.PARTLY_ELIMINATED: "{latency:.2f} cycles to {destination}",
    IdiomKind.FALSE_DEPENDENCY: "{latency:.2f} cycles from the old {destination}, which it does not read",
    IdiomKind.PARTIAL_REGISTER: "{latency:.2f} cycles from the old {destination}",
}
_DIVISIONS = ("divide", "square-root")
_SHIFTS = ("shift", "rotate")
_KINDS = {"register": "reg", "memory": "mem", "immediate": "imm"}


def facts_from_model(model: CoreModel, scheme: InstructionScheme, core: str, document: str) -> FormOnCpu:
    """The facts of a core model that is a document.

    Args:
        model: The core model.
        scheme: The form.
        core: The name of the core, "" if unknown.
        document: How good the core model is.
    """
    text = scheme.text
    mapping = model.mapping
    uops = None if mapping is None else mapping.usage.get(text)
    if uops is None and text in model.portless:
        uops = ()
    is_described = mapping is not None and text in mapping.usage
    alone = AloneTime(model.alone[text], None) if text in model.alone else None
    latency = _latency(model, text)
    return FormOnCpu(
        uops=uops,
        slots=mapping.slots_of(text) if mapping is not None and is_described and mapping.limits else None,
        predicted=inverse_throughput(mapping, Experiment.of([text]))
        if mapping is not None and is_described
        else None,
        alone=alone,
        latency=latency,
        documents=documents_of(core, scheme.pk, text, alone, latency),
        conditions=(
            *_model_conditions(model, scheme, latency),
            *front_end_conditions(model.front_end, scheme),
        ),
        document=document,
    )


def _latency(model: CoreModel, text: str) -> FormLatency | None:
    latencies = model.latencies.get(text, {})
    if not latencies:
        return None
    bases = model.bases.get(text, {})
    by_immediate = model.by_immediate.get(text, {})
    pairs: list[Json] = []
    for ends, cycles in latencies.items():
        is_bound = bases.get(ends) == AT_MOST_BASIS
        values = [
            {
                "immediate": immediate,
                "told": f"immediate {immediate}",
                **_times(latencies_with[ends], is_bound),
            }
            for immediate, latencies_with in sorted(by_immediate.items())
            if ends in latencies_with
        ]
        why = bases.get(ends, "")
        pairs.append(
            {"source": ends[0], "destination": ends[1], "why": why, "values": values}
            | _times(cycles, is_bound)
        )
    times = [pair["least"] for pair in pairs if pair["least"] is not None]
    bounds = [pair["at_most"] for pair in pairs if pair["at_most"] is not None]
    return FormLatency(
        None, min(times, default=None), max(times, default=None), max(bounds, default=None), pairs
    )


def _times(cycles: float | None, is_bound: bool) -> Json:
    """A latency in the form of `PairLatency.as_json`."""
    value = None if is_bound else cycles
    return {
        "least": value,
        "most": value,
        "at_most": cycles if is_bound else None,
        "breaks": cycles is None,
        "throughput_limited": False,
    }


def idiom_conditions(idioms: Sequence[Json]) -> Iterator[str]:
    """The idioms and false dependencies of a form, in the form of `Idiom.as_json`, as sentences."""
    for idiom in idioms:
        yield _idiom_text(IdiomKind(idiom["kind"]), idiom["latency"] or 0.0, idiom["destination"])


def value_conditions(pairs: Sequence[Json]) -> Iterator[str]:
    """The slowest latency for each class of operand values, where values matter.

    Args:
        pairs: In the form of `PairLatency.as_json`.
    """
    slowest: dict[str, float] = {}
    for pair in pairs:
        for value in pair.get("values", ()):
            by_immediate = value.get("immediate") is not None
            name = value["told"] if by_immediate else f"{value['values']} values ({value['told']})"
            if value["most"] is not None:
                slowest[name] = max(slowest.get(name, 0.0), value["most"])
    if len({f"{cycles:.1f}" for cycles in slowest.values()}) > 1:
        yield from (f"{name}: latency {cycles:.2f}" for name, cycles in slowest.items())


def _idiom_text(kind: IdiomKind, latency: float = 0.0, destination: str = "") -> str:
    return f"{kind}: {_IDIOMS[kind].format(latency=latency, destination=f'operand {destination}')}"


def _model_conditions(
    model: CoreModel, scheme: InstructionScheme, latency: FormLatency | None
) -> Iterator[str]:
    text = scheme.text
    if latency is not None:
        yield from value_conditions(latency.pairs)
        if scheme.category in _DIVISIONS:
            yield "latency of the quickest values: others take longer"
    if text in model.moves:
        yield _idiom_text(IdiomKind.ELIMINATED)
    if text in model.free:
        yield _idiom_text(IdiomKind.ZEROING if text in model.portless else IdiomKind.BREAKING)
    for destination, cycles in model.false_dependences.get(text, {}).items():
        yield _idiom_text(IdiomKind.FALSE_DEPENDENCY, cycles, destination)


def front_end_conditions(limits: FrontEndLimits | None, scheme: InstructionScheme) -> Iterator[str]:
    """With which neighbours a form is fused, and what a shift by 0 does."""
    if limits is None:
        return
    explicit = [operand for operand in scheme.operands if not operand.get("implicit")]
    kinds = [_KINDS.get(operand.get("kind", ""), "") for operand in explicit]
    name = f"{scheme.mnemonic} {', '.join(kinds)}"
    pairs = [pair.split(" + ", 1) for pair in sorted(limits.fused or ()) if " + " in pair]
    if behind := [second for first, second in pairs if first == name]:
        yield f"fused with {', '.join(behind)} behind it"
    if before := [first for first, second in pairs if second in (name, scheme.mnemonic)]:
        yield f"fused with {', '.join(before)} before it"
    if limits.kept_flags is not None and scheme.category in _SHIFTS and scheme.text.endswith("cl:R"):
        yield f"by 0 bits: {limits.kept_flags:.1f} cycles where the flags are read behind it"

"""The product's own JSON for core models, reading and writing; see docs/formats.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from inference.core.core_model import CoreModel, FrontEndLimits
from inference.core.errors import CoreError, InvalidInputError
from inference.core.events import Amount
from inference.core.mapping import PortMapping, uops_of
from inference.core.protocols import Json
from inference.core.simulation.program import IssueOrder
from inference.formats.archived_parts import read_document
from inference.formats.core_latencies_json import (
    BypassesPart,
    DocumentPart,
    LatencyOfImmediatePart,
    LatencyPart,
    MemoryTimesPart,
    conditions_json,
    latencies_and_bases,
    latencies_by_immediate,
    latencies_json,
    memory_json,
)
from inference.formats.mapping_json import uops_json
from inference.formats.problems import ExchangeError
from inference.formats.quoting import json_text
from inference.formats.scheduler_json import SchedulerPart, scheduler_json

FORMAT_NAME = "pmweb-core-model"
VERSION = 1  # of the format
MAX_VALUES = 2_000_000
"""Values and keys that a document may have."""

_Rate = Annotated[float, Field(gt=0, le=1e6)]
_Count = Annotated[int, Field(ge=1, le=1_000_000)]
_Text = Annotated[str, Field(max_length=200)]
PORT_NAME_LIMIT = 24
"""Letters of a vendor's name of a port; longer names do not fit into the core diagram."""

PortNames = dict[_Text, Annotated[str, Field(min_length=1, max_length=PORT_NAME_LIMIT)]]


class UopsPart(DocumentPart):
    """`count` µops, each of which can use any of the ports."""

    ports: list[_Text]
    count: Annotated[int, Field(ge=1, le=10_000)]


class LimitsPart(DocumentPart):
    instructions: _Rate | None = None
    slots: _Rate | None = None


class PortMappingPart(DocumentPart):
    ports: list[_Text]
    limits: LimitsPart = LimitsPart()
    usage: dict[_Text, list[UopsPart]]
    slots: dict[_Text, Annotated[int, Field(ge=1, le=10_000)]] = {}


class IdiomsPart(DocumentPart):
    free: list[_Text] = []
    portless: list[_Text] = []
    moves: list[_Text] = []


class FrontEndPart(DocumentPart):
    slots: _Rate | None = None
    straight_instructions: _Rate | None = None
    straight_bytes: _Rate | None = None
    loop_capacity: _Rate | None = None
    taken: _Rate | None = None
    nops: _Rate | None = None
    fused: list[_Text] | None = None
    by_length: list[Annotated[list[_Rate], Field(min_length=2, max_length=2)]] = []
    kept_flags: _Rate | None = None
    loops: list[_Rate] = []
    free_branches: list[_Text] = []
    indexed: list[_Text] = []

    def limits(self) -> FrontEndLimits:
        fused = None if self.fused is None else frozenset(self.fused)
        by_length = tuple(sorted((length, rate) for length, rate in self.by_length))
        return FrontEndLimits(
            **self.model_dump(exclude={"fused", "by_length", "loops", "free_branches", "indexed"}),
            fused=fused,
            by_length=by_length,
            loops=tuple(self.loops),
            free_branches=frozenset(self.free_branches),
            indexed=frozenset(self.indexed),
        )


class LoopCodePart(DocumentPart):
    """Cycles per iteration of loop bodies of one size; see `CoreModel.loop_code`."""

    instructions: _Count
    bytes: _Count
    cycles: _Rate


class IssuePart(DocumentPart):
    """Whether instructions wait for older ones; `stages` in cycles after the issue, by scheme."""

    in_order: bool
    completes_in_order: bool = False
    stages: dict[_Text, Annotated[int, Field(ge=0, le=100)]] = {}


class CoreModelDocument(BaseModel):
    """A core model's document. `port_names`: {port of the mapping: the vendor's name}."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)
    format: Literal["pmweb-core-model"]
    version: Literal[1]
    name: _Text = ""
    isa: _Text
    note: str = ""
    sources: dict[_Text, _Text] = {}
    mapping: PortMappingPart | None = None
    latencies: dict[_Text, list[LatencyPart]] = {}
    idioms: IdiomsPart = IdiomsPart()
    alone: dict[_Text, Amount] = {}
    memory: MemoryTimesPart = MemoryTimesPart()
    front_end: FrontEndPart | None = None
    port_names: PortNames = {}
    scheduler: SchedulerPart | None = None
    by_immediate: dict[_Text, list[LatencyOfImmediatePart]] = {}
    unqueued: dict[_Text, list[LatencyPart]] = {}
    bypasses: BypassesPart = BypassesPart()
    false_dependences: dict[_Text, dict[_Text, Amount]] = {}
    loop_code: list[LoopCodePart] = []
    issue: IssuePart | None = None

    def model(self) -> CoreModel:
        """The core model. Raises `CoreError` for an impossible mapping and for names of unknown ports."""
        ports = () if self.mapping is None else self.mapping.ports
        check_port_names(self.port_names, ports)
        latencies, bases = latencies_and_bases(self.latencies)
        return CoreModel(
            None if self.mapping is None else _port_mapping(self.mapping),
            latencies,
            bases,
            free=frozenset(self.idioms.free),
            portless=frozenset(self.idioms.portless),
            moves=frozenset(self.idioms.moves),
            alone=self.alone,
            memory=self.memory.times(),
            front_end=None if self.front_end is None else self.front_end.limits(),
            sources=self.sources,
            scheduler=None if self.scheduler is None else self.scheduler.scheduler(ports),
            by_immediate=latencies_by_immediate(self.by_immediate),
            unqueued=latencies_and_bases(self.unqueued)[0],
            bypasses=self.bypasses.bypass_times(),
            false_dependences=self.false_dependences,
            loop_code={(part.instructions, part.bytes): part.cycles for part in self.loop_code},
            issue=None if self.issue is None else IssueOrder(**self.issue.model_dump()),
        )


def check_port_names(names: Mapping[str, str], ports: Collection[str]) -> None:
    """Raise `InvalidInputError` for a name of an unknown port, and for two ports with the same name."""
    if unknown := sorted(names.keys() - set(ports)):
        expected = f"the ports are {', '.join(ports)}" if ports else "the model has no ports"
        raise InvalidInputError(f"there is no port {', '.join(unknown)}: {expected}")
    counts = Counter(names.values())
    if duplicates := sorted(name for name, times in counts.items() if times > 1):
        raise InvalidInputError(f"two ports cannot both be called {duplicates[0]}: choose distinct names")


def read_core_model(content: bytes | str) -> CoreModelDocument:
    """Read a core model. Raises `ExchangeError` with the path of the first error."""
    try:
        document = read_document(
            CoreModelDocument, content, "document", MAX_VALUES, lambda key: key != "note"
        )
        document.model()
    except CoreError as error:
        raise ExchangeError(f"this core model cannot be read: mapping: {error}") from error
    except ExchangeError as error:
        raise ExchangeError(f"this core model cannot be read: {error}") from error
    return document


def _port_mapping(part: PortMappingPart) -> PortMapping:
    bits = {port: bit for bit, port in enumerate(part.ports)}
    for scheme, uops in part.usage.items():
        if unknown := {port for uop in uops for port in uop.ports} - bits.keys():
            ports = ", ".join(part.ports)
            raise InvalidInputError(f"{scheme} runs on {', '.join(sorted(unknown))}: the ports are {ports}")
    usage = {
        scheme: uops_of((sum(1 << bits[port] for port in set(uop.ports)), uop.count) for uop in uops)
        for scheme, uops in part.usage.items()
    }
    limits = part.limits
    return PortMapping(tuple(part.ports), usage, limits.instructions, limits.slots, part.slots)


def core_model_json(
    model: CoreModel, *, name: str, isa: str, note: str = "", port_names: Mapping[str, str] | None = None
) -> Json:
    """A core model as a document; `read_core_model` reads it back unchanged.

    Args:
        model: The core model.
        name: Its name.
        isa: Its instruction set.
        note: Any text.
        port_names: {port of the mapping: the vendor's name}; omitted where empty.
    """
    return {
        "format": FORMAT_NAME,
        "version": VERSION,
        "name": name,
        "isa": isa,
        "note": note,
        "sources": dict(model.sources),
        "mapping": None if model.mapping is None else _ports(model.mapping),
        "latencies": latencies_json(model),
        "idioms": {
            "free": sorted(model.free),
            "portless": sorted(model.portless),
            "moves": sorted(model.moves),
        },
        "alone": dict(sorted(model.alone.items())),
        "memory": memory_json(model.memory),
        "front_end": None if model.front_end is None else _front_end(model.front_end),
        **conditions_json(model),
        **({"port_names": dict(port_names)} if port_names else {}),
        **_scheduler(model),
        **_loop_code(model),
        **_issue(model),
    }


def _loop_code(model: CoreModel) -> Json:
    """Omitted where none was found: files of such models do not change."""
    rows = [
        {"instructions": instructions, "bytes": size, "cycles": cycles}
        for (instructions, size), cycles in sorted(model.loop_code.items())
    ]
    return {"loop_code": rows} if rows else {}


def _issue(model: CoreModel) -> Json:
    """Omitted where it is not known: files of such models do not change."""
    if model.issue is None:
        return {}
    return {"issue": {**vars(model.issue), "stages": dict(sorted(model.issue.stages.items()))}}


def _scheduler(model: CoreModel) -> Json:
    """Omitted where none is known: files of such models do not change."""
    if model.scheduler is None or model.mapping is None:
        return {}
    return {"scheduler": scheduler_json(model.scheduler, model.mapping.ports)}


def _front_end(limits: FrontEndLimits) -> Json:
    fields = dict(vars(limits))
    later: Json = {
        "kept_flags": limits.kept_flags,
        "loops": list(limits.loops),
        "free_branches": sorted(limits.free_branches),
        "indexed": sorted(limits.indexed),
    }
    for name, value in later.items():
        if value not in (None, []):
            fields[name] = value
        else:  # files of models without it do not change
            del fields[name]
    fused = None if limits.fused is None else sorted(limits.fused)
    return {**fields, "fused": fused, "by_length": [list(point) for point in limits.by_length]}


def core_model_text(document: Json) -> str:
    """The document as text with a line per scheme, so that `diff` compares models scheme by scheme."""
    long = {"mapping": "usage", "latencies": ""}
    lines = []
    for key, value in document.items():
        if key in long and value:
            lines.append(f" {json_text(key)}: {_lines(value, long[key])}")
        else:
            lines.append(f" {json_text(key)}: {json_text(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(value: Json, inner: str) -> str:
    if inner:
        listed = [
            f"  {json_text(k)}: {_lines(v, '') if k == inner else json_text(v)}" for k, v in value.items()
        ]
    else:
        listed = [f"   {json_text(k)}: {json_text(v)}" for k, v in value.items()]
    return "{\n" + ",\n".join(listed) + "}"


def _ports(mapping: PortMapping) -> Json:
    return {
        "ports": list(mapping.ports),
        "limits": mapping.limits,
        "usage": {scheme: uops_json(uops, mapping.ports) for scheme, uops in sorted(mapping.usage.items())},
        "slots": dict(mapping.slots),
    }

"""The scheduling model that LLVM ships for a processor, read from TableGen records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from inference.core.protocols import Json
from inference.formats.problems import ExchangeError

CYCLES_FIELDS = ("ReleaseAtCycles", "ResourceCycles")
"""LLVM's name of the cycles of resources, since 18 and before."""


@dataclass(frozen=True)
class WriteCosts:
    """Costs of a write. `latency` in cycles; `resources`: (name, cycles) in the record's order."""

    latency: int
    uops: int
    resources: tuple[tuple[str, int], ...]

    def throughput(self, units: Mapping[str, int]) -> float:
        """Inverse throughput in cycles, by the busiest resource. `units`: {resource: number of units}."""
        return max((cycles / units.get(name, 1) for name, cycles in self.resources), default=0.0)


@dataclass(frozen=True)
class Override:
    """An `InstRW` of the model.

    Attributes:
        operator: `instregex` or `instrs`.
        arguments: Patterns or opcodes.
    """

    writes: tuple[str, ...]
    operator: str
    arguments: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        if self.operator == "instregex":
            patterns = [f"(?:{argument.removeprefix('^')})" for argument in self.arguments]
        else:
            patterns = [re.escape(argument) for argument in self.arguments]
        return re.compile("|".join(patterns))  # bounded: it is matched with names of LLVM's opcodes

    def covers(self, opcode: str) -> bool:
        return self.pattern.fullmatch(opcode) is not None


@dataclass(frozen=True)
class OpcodeClass:
    """Writes and reads of an opcode. `override`: index of the `InstRW` that sets them, or None."""

    writes: tuple[str, ...]
    reads: tuple[str, ...]
    override: int | None


@dataclass
class ShippedModel:
    """A scheduling model.

    Attributes:
        opcodes: {name: own reads and writes}.
        units: {resource: number}.
    """

    name: str
    opcodes: Mapping[str, tuple[str, ...]]
    costs: Mapping[str, WriteCosts]
    reads: frozenset[str]
    overrides: Sequence[Override]
    units: Mapping[str, int]
    cycles_field: str
    _classes: dict[str, OpcodeClass | None] = field(default_factory=dict)

    def class_of(self, opcode: str) -> OpcodeClass | None:
        """Scheduling class of an opcode, None where this LLVM lacks it."""
        if opcode not in self._classes:
            self._classes[opcode] = self._class_of(opcode)
        return self._classes[opcode]

    def _class_of(self, opcode: str) -> OpcodeClass | None:
        if opcode not in self.opcodes:
            return None
        number = next((k for k, override in enumerate(self.overrides) if override.covers(opcode)), None)
        used = self.opcodes[opcode] if number is None else self.overrides[number].writes
        writes = tuple(name for name in used if name not in self.reads)
        return OpcodeClass(writes, tuple(name for name in used if name in self.reads), number)


def shipped_model(records: Iterable[tuple[str, Json]], cpu: str, target: str) -> ShippedModel:
    """The scheduling model of a processor, with the costs of aliases in the place of what they replace.

    `target`: LLVM's name of the instruction set, which is the namespace of its opcodes.
    """
    collector = _RecordCollector(target)
    for name, record in records:
        collector.add(name, record)
    model = collector.models.get(cpu)
    if model is None:
        raise ExchangeError(f"LLVM's files have no processor {cpu!r}")
    return collector.shipped_model(model)


class _RecordCollector:
    """Collects the records that are used, by model."""

    def __init__(self, target: str) -> None:
        self.models: dict[str, str] = {}
        self._target = target
        self._opcodes: dict[str, tuple[str, ...]] = {}
        self._reads: set[str] = set()
        self._overrides: dict[str, list[Override]] = {}
        self._costs: dict[str, dict[str, WriteCosts]] = {}
        self._aliases: dict[str, dict[str, str]] = {}
        self._units: dict[str, int] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self._cycles_field = CYCLES_FIELDS[-1]

    def add(self, name: str, record: Json) -> None:
        kinds = set(record["!superclasses"])
        if "Instruction" in kinds:
            if record.get("Namespace") == self._target:
                self._opcodes[name] = _names(record.get("SchedRW") or ())
        elif "Processor" in kinds or "ProcessorModel" in kinds:
            self.models[record["Name"]] = _name(record["SchedModel"])
        elif kinds & {"SchedRead", "SchedReadAdvance", "SchedReadVariant"}:
            self._reads.add(name)
        elif "InstRW" in kinds:
            self._add_override(record)
        elif kinds & {"WriteRes", "SchedWriteRes"}:
            target = _name(record["WriteType"]) if "WriteRes" in kinds else name
            self._costs.setdefault(_name(record["SchedModel"]), {})[target] = self._cost(record)
        elif "SchedAlias" in kinds:
            aliases = self._aliases.setdefault(_name(record["SchedModel"]), {})
            aliases[_name(record["MatchRW"])] = _name(record["AliasRW"])
        elif "ProcResource" in kinds:
            self._units[name] = record["NumUnits"]
        elif "ProcResGroup" in kinds:
            self._groups[name] = _names(record["Resources"])

    def shipped_model(self, model: str) -> ShippedModel:
        costs = self._costs.get(model, {})
        aliases = self._aliases.get(model, {})
        renamed = {name: costs[source] for name, source in aliases.items() if source in costs}
        groups = {
            name: sum(self._units.get(unit, 1) for unit in members) for name, members in self._groups.items()
        }
        return ShippedModel(
            model,
            self._opcodes,
            {name: cost for name, cost in costs.items() if name not in aliases} | renamed,
            frozenset(self._reads),
            self._overrides.get(model, []),
            self._units | groups,
            self._cycles_field,
        )

    def _add_override(self, record: Json) -> None:
        instructions = record["Instrs"]
        arguments = tuple(
            item[0] if isinstance(item[0], str) else _name(item[0]) for item in instructions["args"]
        )
        override = Override(_names(record["OperandReadWrites"]), _name(instructions["operator"]), arguments)
        self._overrides.setdefault(_name(record["SchedModel"]), []).append(override)

    def _cost(self, record: Json) -> WriteCosts:
        self._cycles_field = next(name for name in CYCLES_FIELDS if name in record)
        resources = _names(record["ProcResources"])
        cycles = record[self._cycles_field] or [1] * len(resources)
        return WriteCosts(
            record["Latency"], record["NumMicroOps"], tuple(zip(resources, cycles, strict=False))
        )


def _name(reference: Json | None) -> str:
    return "" if reference is None else str(reference["def"])


def _names(references: Iterable[Json]) -> tuple[str, ...]:
    return tuple(map(_name, references))

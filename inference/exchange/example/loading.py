"""Puts the recorded example into the database."""

from __future__ import annotations

import json
from dataclasses import dataclass

from django.db import transaction

from inference.exchange.errors import RefusedError
from inference.exchange.evaluating import evaluate
from inference.exchange.example.recipe import MAPPING, MIXES, NOISE, SEED, SINGLETONS_AND_PAIRS
from inference.exchange.instruction_sets import load_x86, vocabulary
from inference.exchange.names import free_name
from inference.exchange.parsing import Parsed, parse
from inference.exchange.stored import store_mapping, store_measurements
from inference.models import ISA, ExperimentSet, Machine, PortMapping

SOURCE = "recorded example 1"
NOTE = (
    "From a simulated processor, not a real one: ten ports, six instructions per cycle, 1 % Gaussian noise."
)


@dataclass(frozen=True)
class Example:
    """The rows of the recorded example."""

    machine: Machine
    training: ExperimentSet
    mixes: ExperimentSet
    mapping: PortMapping


@transaction.atomic
def load_example() -> Example:
    """Make whatever of the example is missing; what is there stays as it is, even under another name."""
    isa, _ = load_x86()
    machine = _machine(isa)
    training = _experiment_set(
        isa, machine, "Example: singletons and pairs (simulated)", SINGLETONS_AND_PAIRS.name
    )
    mixes = _experiment_set(isa, machine, "Example: five-scheme mixes (simulated)", MIXES.name)
    mapping = _mapping(isa, machine)
    if not mapping.evaluations.filter(experiment_set=mixes).exists():
        evaluate(mapping, mixes)
    return Example(machine, training, mixes, mapping)


def _parsed(isa: ISA, file_name: str) -> Parsed:
    parsed = parse((MAPPING.parent / file_name).read_bytes(), file_name, vocabulary(isa))
    if parsed.problem_count:
        raise RefusedError("\n".join(parsed.lines()))
    return parsed


def _machine(isa: ISA) -> Machine:
    known = Machine.objects.filter(facts__example=SOURCE).first()
    return known or Machine.objects.create(
        name=free_name(Machine, "Example processor (simulated)"),
        note=NOTE,
        kind=Machine.Kind.SIMULATED,
        isa=isa,
        facts={
            "example": SOURCE,
            "mapping": json.loads(MAPPING.read_text(encoding="utf-8")),
            "noise": NOISE,
            "seed": SEED,
        },
    )


def _experiment_set(isa: ISA, machine: Machine, name: str, file_name: str) -> ExperimentSet:
    source = f"{SOURCE}: {file_name}"
    known = ExperimentSet.objects.filter(origin=ExperimentSet.Origin.EXAMPLE, source=source).first()
    if known is not None:
        return known
    row = ExperimentSet.objects.create(
        name=free_name(ExperimentSet, name),
        note=NOTE,
        isa=isa,
        machine=machine,
        origin=ExperimentSet.Origin.EXAMPLE,
        source=source,
    )
    store_measurements(row, _parsed(isa, file_name).measured)
    return row


def _mapping(isa: ISA, machine: Machine) -> PortMapping:
    source = f"{SOURCE}: {MAPPING.name}"
    known = PortMapping.objects.filter(origin=PortMapping.Origin.EXAMPLE, source=source).first()
    if known is not None:
        return known
    value = _parsed(isa, MAPPING.name).mapping
    assert value is not None, "the file of the mapping holds a mapping"
    return store_mapping(
        free_name(PortMapping, "Example: true mapping (simulated)"),
        isa,
        value,
        origin=PortMapping.Origin.EXAMPLE,
        source=source,
        machine=machine,
        note=NOTE,
    )

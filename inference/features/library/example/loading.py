"""Finds the recorded example in the database, whatever its rows are named now, and loads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from inference.core.protocols import Json
from inference.formats.parsing import Parsed, parse
from inference.isa.targets import X86  # isa-name: the example was measured on a Zen 4
from inference.models import ISA, ExperimentSet, Machine, PortMapping
from inference.storage.errors import RefusedError
from inference.storage.evaluations import evaluate
from inference.storage.instruction_sets import load_supplied, vocabulary
from inference.storage.mappings import store_mapping
from inference.storage.names import free_name
from inference.storage.rows import store_measurements


@dataclass(frozen=True)
class ExamplePages:
    training: ExperimentSet
    mixes: ExperimentSet
    mapping: PortMapping


def find_example() -> ExamplePages | None:
    """The example's sets and mapping; None if one of them is missing (three queries)."""
    sets = ExperimentSet.objects.filter(origin=ExperimentSet.Origin.EXAMPLE).select_related("isa")
    training = sets.filter(source=source_of(SINGLETONS_AND_PAIRS)).first()
    mixes = sets.filter(source=source_of(MIXES)).first()
    mappings = PortMapping.objects.filter(origin=PortMapping.Origin.EXAMPLE, source=source_of(MAPPING))
    mapping = mappings.defer("report").first()
    if training is None or mixes is None or mapping is None:
        return None
    return ExamplePages(training, mixes, mapping)


DATA = Path(__file__).parent / "data"
SINGLETONS_AND_PAIRS = DATA / "zen4_singletons_and_pairs.csv"
MIXES = DATA / "zen4_five_scheme_mixes.csv"
SLOTS = DATA / "zen4_slots.csv"
MAPPING = DATA / "zen4_mapping.json"

SOURCE = "recorded example 3"
"""Prefix of the rows' source. The number counts versions of the example; the first was simulated."""

CPU = "AMD EPYC"
MACHINE_NOTE = (
    "Two Zen 4 cores of a virtual machine, measured on 2026-11-26 with “Measure this computer”. The "
    "measurements are real; no agent answers for this computer here."
)
TRAINING_NOTE = (
    "Real measurements of an AMD EPYC (Zen 4, virtual machine), 2026-11-26: 53 schemes alone and in pairs, "
    "and the search for the bottleneck."
)
MIXES_NOTE = (
    "Real measurements of an AMD EPYC (Zen 4, virtual machine), 2026-11-26: random mixes of five schemes."
)
SLOTS_NOTE = (
    "Real measurements of an AMD EPYC (Zen 4, virtual machine), 2026-11-26: 53 schemes among moves and "
    "exchanges, which show how many issue slots each takes."
)
MAPPING_NOTE = (
    "Inferred from real measurements of an AMD EPYC (Zen 4, virtual machine): the example's singletons and "
    "pairs, and R_max from the search for the bottleneck. 13 ports, seed 1."
)

IDENTITY: Json = {
    "kind": "machine",
    "cpu": CPU,
    "harness": "0.8.0",
    "settings": {
        "tolerance": 0.01,
        "min_passes": 2,
        "max_passes": 7,
        "repetitions": 5,
        "sample_us": 20.0,
        "patience": 60.0,
        "timeout": 2.0,
    },
}
"""The agent's settings of the measurements; today's defaults may differ."""

FACTS: Json = {
    "example": SOURCE,
    "cpu": CPU,
    "vendor": "AuthenticAMD",
    "family": 25,
    "model": 17,
    "stepping": 1,
    "cores": 2,
    "virtual": True,
    "smt": False,
    "counters": "none",
    "measured": "2026-11-26",
    "harness": IDENTITY,
}


def source_of(file: Path) -> str:
    return f"{SOURCE}: {file.name}"


@dataclass(frozen=True)
class RecordedExample:
    machine: Machine
    training: ExperimentSet
    mixes: ExperimentSet
    slots: ExperimentSet
    mapping: PortMapping


@transaction.atomic
def load_example() -> RecordedExample:
    """Creates missing rows of the example; existing ones stay unchanged, even if they were renamed."""
    isa, _ = load_supplied(X86)
    machine = _machine(isa)
    training = _experiment_set(
        machine, "Example: Zen 4, singletons and pairs", SINGLETONS_AND_PAIRS, TRAINING_NOTE
    )
    mixes = _experiment_set(machine, "Example: Zen 4, five-scheme mixes", MIXES, MIXES_NOTE)
    slots = _experiment_set(machine, "Example: Zen 4, issue slots", SLOTS, SLOTS_NOTE)
    mapping = _mapping(machine)
    if not mapping.evaluations.filter(experiment_set=mixes).exists():
        evaluate(mapping, mixes)
    return RecordedExample(machine, training, mixes, slots, mapping)


def _parse_file(isa: ISA, file: Path) -> Parsed:
    parsed = parse(file.read_bytes(), file.name, vocabulary(isa))
    if parsed.problem_count:
        raise RefusedError("\n".join(parsed.lines()))
    return parsed


def _machine(isa: ISA) -> Machine:
    existing = Machine.objects.filter(facts__example=SOURCE).first()
    return existing or Machine.objects.create(
        name=free_name(Machine, "Example: AMD EPYC (Zen 4), virtual machine"),
        note=MACHINE_NOTE,
        kind=Machine.Kind.PUBLISHED,
        isa=isa,
        cpu=CPU,
        facts=FACTS,
    )


def _experiment_set(machine: Machine, name: str, file: Path, note: str) -> ExperimentSet:
    source = source_of(file)
    existing = ExperimentSet.objects.filter(origin=ExperimentSet.Origin.EXAMPLE, source=source).first()
    if existing is not None:
        return existing
    row = ExperimentSet.objects.create(
        name=free_name(ExperimentSet, name),
        note=note,
        isa=machine.isa,
        machine=machine,
        origin=ExperimentSet.Origin.EXAMPLE,
        source=source,
        identity=IDENTITY,
    )
    store_measurements(row, _parse_file(machine.isa, file).measured)
    return row


def _mapping(machine: Machine) -> PortMapping:
    source = source_of(MAPPING)
    existing = PortMapping.objects.filter(origin=PortMapping.Origin.EXAMPLE, source=source).first()
    if existing is not None:
        return existing
    value = _parse_file(machine.isa, MAPPING).mapping
    assert value is not None, "the file of the mapping has a mapping"
    return store_mapping(
        free_name(PortMapping, "Example: Zen 4, by PMEvo"),
        machine.isa,
        value,
        origin=PortMapping.Origin.EXAMPLE,
        source=source,
        machine=machine,
        note=MAPPING_NOTE,
    )

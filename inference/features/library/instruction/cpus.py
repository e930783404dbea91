"""The CPUs of cards and scheme tables: machines, core models that are documents, imported mappings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache

from inference.core.core_model import CoreModel
from inference.core.mapping import PortMapping as Value
from inference.features.library.gallery.query import RecordedCore, recorded_core, recorded_cores
from inference.features.library.instruction.evidence import FormEvidence
from inference.models import ISA, InstructionScheme, Machine, PortMapping, StoredCoreModel
from inference.storage.core_models import core_model_of, mapping_port_labels, port_labels
from inference.storage.instruction_sets import core_name
from inference.storage.names import machine_label

RECORDED = "r-"
"""Beginning of the keys of recorded cores."""


@dataclass(frozen=True)
class Cpu:
    """A machine with its results, an imported mapping, or a core model that is a document.

    Attributes:
        key: Its name in addresses.
        forms: Number of forms with facts.
        other_mappings: Further mappings of the same core.
        core_model: Core model of the machine, or the document itself, unsaved where it comes with the
            software.
        document: How good such a document is, None for others.
    """

    key: str
    name: str
    core: str
    machine: Machine | None
    mapping: PortMapping | None
    forms: int
    other_mappings: tuple[PortMapping, ...] = ()
    core_model: StoredCoreModel | None = None
    document: str | None = None
    port_labels: tuple[str, ...] = ()
    """Names of the ports that pages show; of chosen CPUs."""

    @property
    def imported(self) -> bool:
        return self.machine is None and self.document is None

    @property
    def is_recorded(self) -> bool:
        """Whether it comes with the software, and has no row."""
        return self.core_model is not None and self.core_model.pk is None

    @property
    def label(self) -> str:
        """What it is: "Zen 4 (AMD EPYC), this computer"."""
        return self.name if self.machine is None else machine_label(self.machine)

    @property
    def slug(self) -> str:
        """The name of a recorded core in addresses."""
        return self.key.removeprefix(RECORDED)

    @property
    def ports(self) -> Sequence[str]:
        """The names of the ports, in the order of the bits of its µops."""
        if self.document is None:
            return [] if self.mapping is None else self.mapping.ports
        mapping = None if self.core_model is None else document_model(self.core_model).mapping
        return [] if mapping is None else mapping.ports


def cpus_with_facts(isa: ISA, values: Mapping[PortMapping, Value], evidence: FormEvidence) -> list[Cpu]:
    """Machines, those with most facts first, then imported mappings, newest first.

    A machine is represented by its mapping with most forms; of equal ones by a core model's, else by the
    newest.
    """
    by_machine: dict[int, list[PortMapping]] = defaultdict(list)
    unbound = []
    for row in values:
        if row.machine_id is None or row.origin == PortMapping.Origin.IMPORT:
            unbound.append(row)
        else:
            by_machine[row.machine_id].append(row)
    cpus = []
    of_machine = machine_core_models(isa)
    of_cores = {row.mapping_id for row in of_machine.values()}
    machine_ids = set(by_machine) | evidence.machines
    for machine in Machine.objects.filter(pk__in=machine_ids, isa=isa).select_related("isa"):
        rows = by_machine.get(machine.pk, [])
        best = max(rows, key=lambda row: (len(values[row].usage), row.pk in of_cores, row.pk), default=None)
        described = 0 if best is None else len(values[best].usage)
        name = core_name(machine)
        forms = max(described, evidence.forms_on(machine.pk))
        core_model = of_machine.get(machine.pk)
        cpus.append(Cpu(f"m{machine.pk}", machine.name, name, machine, best, forms, core_model=core_model))
    cpus.sort(key=lambda cpu: (cpu.mapping is None, -cpu.forms, cpu.key))
    for row in unbound:
        name = "" if row.machine is None else core_name(row.machine)
        cpus.append(Cpu(f"p{row.pk}", row.name, name, None, row, len(values[row].usage)))
    return [_with_related(cpu, cpus, by_machine) for cpu in cpus]


def _with_related(cpu: Cpu, cpus: Sequence[Cpu], by_machine: Mapping[int, Sequence[PortMapping]]) -> Cpu:
    """A copy with the mappings of the same machine and of the same core."""
    rows = by_machine.get(cpu.machine.pk, ()) if cpu.machine is not None else ()
    same_core = [other.mapping for other in cpus if cpu.core and other.core == cpu.core]
    other_rows = dict.fromkeys(row for row in (*rows, *same_core) if row is not None and row != cpu.mapping)
    return replace(cpu, other_mappings=tuple(other_rows))


def machine_core_models(isa: ISA) -> dict[int | None, StoredCoreModel]:
    """{machine: its newest core model} (one query)."""
    rows = StoredCoreModel.objects.filter(isa=isa, document__isnull=True).select_related("mapping")
    return {row.machine_id: row for row in rows.defer("document", "mapping__report").order_by("pk")}


def documents_with_facts(isa: ISA, schemes: Sequence[InstructionScheme]) -> list[Cpu]:
    """The core models that are documents and describe any of the forms."""
    texts = {scheme.text for scheme in schemes}
    return [cpu for cpu in document_cpus(isa) if not texts.isdisjoint(_described_schemes(cpu))]


def _described_schemes(cpu: Cpu) -> set[str]:
    """The schemes that a document describes."""
    assert cpu.core_model is not None, "it is the document"
    model = document_model(cpu.core_model)
    usage = {} if model.mapping is None else model.mapping.usage
    return {*usage, *model.latencies, *model.alone}


def document_cpus(isa: ISA) -> list[Cpu]:
    """The core models that are documents: imported ones, newest first, then recorded ones."""
    rows = StoredCoreModel.objects.filter(isa=isa, document__isnull=False).order_by("-pk")
    names_in_use = {row.name for row in rows}
    recorded = [core for core in recorded_cores() if core.isa == isa.name and core.name not in names_in_use]
    return [
        *(_document_cpu(f"c{row.pk}", row, recorded_core(row.name)) for row in rows),
        *(_document_cpu(f"{RECORDED}{core.slug}", core.row, core) for core in recorded),
    ]


def _document_cpu(key: str, row: StoredCoreModel, recorded: RecordedCore | None) -> Cpu:
    if recorded is None:
        return Cpu(key, row.name, "", None, None, 0, core_model=row, document=row.note)
    document = f"{recorded.measured}; {recorded.accuracy}"
    return Cpu(key, recorded.label, recorded.core, None, None, 0, core_model=row, document=document)


def document_model(row: StoredCoreModel) -> CoreModel:
    """The value of a core model that is a document; those of the database are cached."""
    return _recorded_document(row.name) if row.pk is None else _stored_document(row.pk, row.created)


@cache
def _recorded_document(name: str) -> CoreModel:
    core = recorded_core(name)
    assert core is not None, "rows without an id are of the gallery"
    return core_model_of(core.row)


@lru_cache(maxsize=8)
def _stored_document(pk: int, _created: datetime) -> CoreModel:
    return core_model_of(StoredCoreModel.objects.get(pk=pk))


def labelled_cpus(cpus: Sequence[Cpu]) -> list[Cpu]:
    """The CPUs with the labels of their ports."""
    labels = labels_of(cpus)
    return [labelled(cpu, labels) for cpu in cpus]


def labels_of(cpus: Sequence[Cpu]) -> dict[str | int, Mapping[str, str]]:
    """{key of a CPU that is a document, or id of a mapping: labels of its ports}."""
    mappings = [cpu.mapping for cpu in cpus if cpu.mapping is not None]
    mappings += [row for cpu in cpus for row in cpu.other_mappings]
    labels: dict[str | int, Mapping[str, str]] = dict(mapping_port_labels(mappings).items())
    for cpu in cpus:
        if cpu.document is not None and cpu.core_model is not None:
            labels[cpu.key] = port_labels(cpu.core_model)
    return labels


def labelled(cpu: Cpu, labels: Mapping[str | int, Mapping[str, str]]) -> Cpu:
    names = labels.get(cpu.key if cpu.mapping is None else cpu.mapping.pk, {})
    return replace(cpu, port_labels=tuple(names.get(port, port) for port in cpu.ports))

"""The instruction card: forms of a mnemonic by CPU (a bounded number of queries), and as plain values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inference.core.experiment import Experiment
from inference.core.judging.words import NO_GROUNDS
from inference.core.mapping import PortMapping as Value
from inference.core.mapping import Uops
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput
from inference.features.library.instruction.evidence import (
    FormEvidence,
    FormOnCpu,
    OtherUsage,
    differ,
    documents_of,
    evidence_about,
)
from inference.features.library.instruction.request import InstructionRequest
from inference.isa.targets import target_of, targets
from inference.models import (
    ISA,
    InstructionScheme,
    Machine,
    PortMapping,
    StoredCoreModel,
)
from inference.storage.evaluations import SchemeResidual, residuals_of
from inference.storage.instruction_sets import core_of
from inference.storage.judging import MappingGrounds, grounds_by_mapping
from inference.storage.rows import load_parts
from inference.web.api.shapes import uops_json
from inference.web.validation import RequestError

SHOWN = 3
"""CPUs that stand side by side unless somebody chooses others."""


class UnknownInstructionError(RequestError):
    """The instruction set has no such mnemonic."""


@dataclass(frozen=True)
class Cpu:
    """A machine with what was found out about it, or an imported mapping: what others say.

    `key`: by which addresses name it. `forms`: how many forms it says something of. `others`: further
    mappings of the same core.
    """

    key: str
    name: str
    core: str
    machine: Machine | None
    mapping: PortMapping | None
    forms: int
    others: tuple[PortMapping, ...] = ()

    @property
    def imported(self) -> bool:
        """Whether it is what a file says."""
        return self.machine is None


@dataclass(frozen=True)
class InstructionForm:
    """A form of the instruction, with a cell for every CPU that is shown."""

    scheme: InstructionScheme
    cells: tuple[FormOnCpu, ...]


@dataclass(frozen=True)
class InstructionCard:
    """`cpus` are shown, `further` could be. `silent`: forms of which nothing is known on those shown.

    `relatives`: the same mnemonic with or without its leading `v`. `elsewhere`: other instruction sets that
    have it.
    """

    isa: ISA
    mnemonic: str
    cpus: tuple[Cpu, ...]
    further: tuple[Cpu, ...]
    forms: tuple[InstructionForm, ...]
    silent: tuple[InstructionScheme, ...]
    relatives: tuple[str, ...]
    elsewhere: tuple[ISA, ...]


def mnemonic_meant(isa: ISA, word: str) -> str | None:
    """The mnemonic of the instruction set that a word is, or another name of: `cmovnz` is `cmovne`."""
    word = word.strip().lower()
    if isa.schemes.filter(mnemonic=word).exists():
        return word
    meant = sorted(target_of(isa.name).names.meaning_of(word).mnemonics)
    return isa.schemes.filter(mnemonic__in=meant).order_by("id").values_list("mnemonic", flat=True).first()


def card_of(request: InstructionRequest) -> InstructionCard:
    """The card that is asked for. Raises `RequestError` for what is not there."""
    isa = ISA.objects.filter(name=request.isa).first()
    if isa is None:
        right = ", ".join(ISA.objects.values_list("name", flat=True))
        raise RequestError("isa", f"there is no instruction set {request.isa!r}", f"one of {right}")
    schemes = _forms(isa, request.mnemonic)
    mnemonic = schemes[0].mnemonic
    evidence = evidence_about(schemes)
    values = dict(_values(isa, schemes, {mapping for mapping, _ in evidence.verdicts}))
    cpus = _cpus(isa, values, evidence)
    chosen = _chosen(cpus, request.chosen)
    mappings = [cpu.mapping for cpu in chosen if cpu.mapping is not None]
    texts = [scheme.text for scheme in schemes]
    grounds = grounds_by_mapping(mappings, texts)
    residuals = residuals_of([row.pk for row in mappings], texts)
    known = _Known(values, evidence, residuals, grounds)
    forms, silent = [], []
    for scheme in schemes:
        cells = tuple(known.cell(scheme, cpu) for cpu in chosen)
        if all(cell.is_empty for cell in cells):
            silent.append(scheme)
        else:
            forms.append(InstructionForm(scheme, cells))
    bare = mnemonic.removeprefix("v")
    kin = isa.schemes.filter(mnemonic__in={bare, f"v{bare}"} - {mnemonic}).order_by("mnemonic")
    return InstructionCard(
        isa=isa,
        mnemonic=mnemonic,
        cpus=chosen,
        further=tuple(cpu for cpu in cpus if cpu not in chosen),
        forms=tuple(forms),
        silent=tuple(silent),
        relatives=tuple(kin.values_list("mnemonic", flat=True).distinct()),
        elsewhere=tuple(ISA.objects.exclude(pk=isa.pk).filter(schemes__mnemonic=mnemonic).distinct()),
    )


def _forms(isa: ISA, word: str) -> list[InstructionScheme]:
    """The forms of the instruction that a word means, in their order. Raises `UnknownInstructionError`."""
    found = list(isa.schemes.filter(mnemonic=word.lower()))
    if not found:
        mnemonic = mnemonic_meant(isa, word)
        if mnemonic is None:
            raise UnknownInstructionError("mnemonic", f"{isa.name} has no instruction {word!r}")
        found = list(isa.schemes.filter(mnemonic=mnemonic))
    return sorted(found, key=form_order)


def instruction_named(text: str) -> tuple[ISA, str] | None:
    """The instruction set and mnemonic that a single word names; those of this software before others."""
    if len(text.split()) != 1 or len(text) > 60:
        return None
    first = {target.name: place for place, target in enumerate(targets())}
    for isa in sorted(ISA.objects.all(), key=lambda each: (first.get(each.name, len(first)), each.pk)):
        mnemonic = mnemonic_meant(isa, text)
        if mnemonic is not None:
            return isa, mnemonic
    return None


_IMMEDIATE, _MEMORY = "immediate", "memory"


def form_order(scheme: InstructionScheme) -> tuple[object, ...]:
    """Registers first, then memory, then immediates; widths ascending, the fewest operands first."""
    shown = [each for each in scheme.operands if not each.get("implicit")]
    kinds = {each.get("kind") for each in shown}
    group = (_IMMEDIATE in kinds, bool(scheme.memory))
    return group, scheme.memory, scheme.width, len(shown), scheme.text


def _values(
    isa: ISA, schemes: Sequence[InstructionScheme], judging: Collection[int]
) -> Iterable[tuple[PortMapping, Value]]:
    """What every mapping says of the forms, with those that only judged one, the rows with their machines."""
    parts = dict(load_parts(isa, {scheme.pk: scheme.text for scheme in schemes}))
    wanted = {row.pk for row in parts} | set(judging)
    rows = PortMapping.objects.filter(pk__in=wanted, isa=isa).defer("report").order_by("-pk")
    for row in rows.select_related("machine__isa", "run"):
        yield row, parts.get(row) or Value(ports=tuple(row.ports), usage={})


def _cpus(isa: ISA, values: Mapping[PortMapping, Value], evidence: FormEvidence) -> list[Cpu]:
    """Machines, those that say most first, then imported mappings, the newest first.

    Of a machine's mappings the one that describes most forms counts, of as good ones that of a core model,
    else the newest.
    """
    by_machine: dict[int, list[PortMapping]] = defaultdict(list)
    unbound = []
    for row in values:
        if row.machine_id is None or row.origin == PortMapping.Origin.IMPORT:
            unbound.append(row)
        else:
            by_machine[row.machine_id].append(row)
    found = []
    of_cores = set(StoredCoreModel.objects.filter(mapping__in=values).values_list("mapping_id", flat=True))
    wanted = set(by_machine) | evidence.machines
    for machine in Machine.objects.filter(pk__in=wanted, isa=isa).select_related("isa"):
        rows = by_machine.get(machine.pk, [])
        best = max(rows, key=lambda row: (len(values[row].usage), row.pk in of_cores, row.pk), default=None)
        described = 0 if best is None else len(values[best].usage)
        core = core_of(machine)
        name = "" if core is None else core.name
        forms = max(described, evidence.forms_on(machine.pk))
        found.append(Cpu(f"m{machine.pk}", machine.name, name, machine, best, forms))
    found.sort(key=lambda cpu: (cpu.mapping is None, -cpu.forms, cpu.key))
    for row in unbound:
        core = None if row.machine is None else core_of(row.machine)
        name = "" if core is None else core.name
        found.append(Cpu(f"p{row.pk}", row.name, name, None, row, len(values[row].usage)))
    return [_with_others(cpu, found, by_machine) for cpu in found]


def _with_others(cpu: Cpu, cpus: Sequence[Cpu], by_machine: Mapping[int, Sequence[PortMapping]]) -> Cpu:
    """With the mappings of the same machine, and those of the same core."""
    own = by_machine.get(cpu.machine.pk, ()) if cpu.machine is not None else ()
    alike = [each.mapping for each in cpus if cpu.core and each.core == cpu.core]
    others = dict.fromkeys(row for row in (*own, *alike) if row is not None and row != cpu.mapping)
    return replace(cpu, others=tuple(others))


def _chosen(cpus: Sequence[Cpu], keys: Sequence[str]) -> tuple[Cpu, ...]:
    if not keys:
        return tuple(cpus[:SHOWN])
    known = {cpu.key: cpu for cpu in cpus}
    for key in keys:
        if key not in known:
            right = ", ".join(f"{cpu.key} ({cpu.name})" for cpu in cpus) or "none, since nothing is known"
            raise RequestError("cpus", f"nothing is known of this instruction on {key!r}", right)
    return tuple(known[key] for key in keys)


@dataclass(frozen=True)
class _Known:
    """All that cells are made of."""

    values: Mapping[PortMapping, Value]
    evidence: FormEvidence
    residuals: Mapping[tuple[int, str], SchemeResidual]
    grounds: Mapping[int, MappingGrounds]

    def cell(self, scheme: InstructionScheme, cpu: Cpu) -> FormOnCpu:
        """A form on a CPU."""
        alone = latency = None
        if cpu.machine is not None:
            alone = self.evidence.alone.get((cpu.machine.pk, scheme.pk))
            latency = self.evidence.latencies.get((cpu.machine.pk, scheme.pk))
        elif cpu.mapping is not None:
            alone = self.evidence.alone_for(cpu.mapping, scheme.pk)
        verdict, witnesses, residual = None, 0, None
        if cpu.mapping is not None:
            verdict, witnesses = self.evidence.verdicts.get((cpu.mapping.pk, scheme.pk), (None, 0))
            residual = self.residuals.get((cpu.mapping.pk, scheme.text))
        uops, slots, predicted = self._said(cpu.mapping, scheme.text)
        grounds = None if cpu.mapping is None else self.grounds[cpu.mapping.pk]
        return FormOnCpu(
            uops=uops,
            slots=slots,
            predicted=predicted,
            alone=alone,
            latency=latency,
            verdict=verdict,
            witnesses=witnesses,
            residual=None if residual is None else residual.error,
            evaluation=None if residual is None else residual.evaluation,
            others=() if uops is None else tuple(self._others(cpu, scheme.text, uops)),
            documents=documents_of(cpu.core, scheme.pk, scheme.text, alone, latency),
            grounds=NO_GROUNDS if grounds is None else grounds.of(scheme.text),
            conflicts=() if grounds is None else grounds.conflict_words(scheme.text),
        )

    def _said(self, mapping: PortMapping | None, text: str) -> tuple[Uops | None, int | None, float | None]:
        value = None if mapping is None else self.values.get(mapping)
        if value is None or text not in value.usage:
            return None, None, None
        slots = value.slots_of(text) if value.limits else None
        return value.usage[text], slots, inverse_throughput(value, Experiment.of([text]))

    def _others(self, cpu: Cpu, text: str, uops: Uops) -> Iterable[OtherUsage]:
        for row in cpu.others:
            said = self.values[row].usage.get(text)
            if said is not None and differ(said, uops):
                yield OtherUsage(row, said)


def card_as_json(card: InstructionCard) -> Json:
    """All of it as an object for programs."""
    return {
        "isa": card.isa.name,
        "mnemonic": card.mnemonic,
        "cpus": [_cpu(each) for each in card.cpus],
        "further": [_cpu(each) for each in card.further],
        "forms": [
            {
                "scheme_id": form.scheme.pk,
                "scheme": form.scheme.text,
                "cells": [_cell(cpu, cell) for cpu, cell in zip(card.cpus, form.cells, strict=True)],
            }
            for form in card.forms
        ],
        "silent": [scheme.text for scheme in card.silent],
        "relatives": list(card.relatives),
    }


def _cpu(cpu: Cpu) -> Json:
    return {
        "key": cpu.key,
        "name": cpu.name,
        "core": cpu.core,
        "machine_id": None if cpu.machine is None else cpu.machine.pk,
        "mapping_id": None if cpu.mapping is None else cpu.mapping.pk,
        "ports": [] if cpu.mapping is None else list(cpu.mapping.ports),
    }


def _cell(cpu: Cpu, cell: FormOnCpu) -> Json:
    latency = cell.latency
    return {
        "cpu": cpu.key,
        "uops": _uops(cell.uops, cpu),
        "slots": cell.slots,
        "measured": None if cell.alone is None else cell.alone.cycles,
        "predicted": cell.predicted,
        "experiment_id": None if cell.alone is None else cell.alone.experiment_id,
        "latency_least": None if latency is None else latency.least,
        "latency_most": None if latency is None else latency.most,
        "latency_at_most": None if latency is None else latency.at_most,
        "latency_set_id": None if latency is None else latency.latency_set.pk,
        "certainty": cell.certainty,
        "why": cell.why,
        "conflicts": list(cell.conflicts),
        "witnesses": cell.witnesses,
        "others": [
            {
                "mapping_id": each.mapping.pk,
                "mapping": each.mapping.name,
                "uops": uops_json(each.uops, each.mapping.ports),
            }
            for each in cell.others
        ],
        "documents": [
            {"source": each.source, "what": each.what, "said": each.said} for each in cell.documents
        ],
    }


def _uops(uops: Uops | None, cpu: Cpu) -> list[dict[str, Any]] | None:
    return None if uops is None or cpu.mapping is None else uops_json(uops, cpu.mapping.ports)

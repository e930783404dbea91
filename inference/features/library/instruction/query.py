"""Instruction cards: forms of a mnemonic by CPU, in a bounded number of queries; and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from inference.core.core_model import FrontEndLimits
from inference.core.experiment import Experiment
from inference.core.judging.claims import NO_EVIDENCE
from inference.core.mapping import PortMapping as Value
from inference.core.mapping import Uops
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput
from inference.features.library.instruction.cpus import (
    Cpu,
    cpus_with_facts,
    document_model,
    documents_with_facts,
    labelled,
    labels_of,
)
from inference.features.library.instruction.evidence import (
    FormEvidence,
    FormLatency,
    FormOnCpu,
    OtherUsage,
    differ,
    documents_of,
    evidence_about,
)
from inference.features.library.instruction.model_facts import (
    facts_from_model,
    front_end_conditions,
    idiom_conditions,
    value_conditions,
)
from inference.features.library.instruction.request import InstructionRequest
from inference.isa.targets import target_of, targets
from inference.models import (
    ISA,
    InstructionScheme,
    Machine,
    MeasuredFrontEnd,
    PortMapping,
)
from inference.storage.core_models import measured_limits
from inference.storage.evaluations import SchemeResidual, residuals_of
from inference.storage.instruction_sets import core_name
from inference.storage.judging import MappingGrounds, grounds_by_mapping
from inference.storage.mappings import load_part, load_parts
from inference.web.api.shapes import uops_json
from inference.web.validation import RequestError

MAX_CPUS = 8
"""Number of CPUs on a card."""


class UnknownInstructionError(RequestError):
    """The instruction set has no such mnemonic."""


@dataclass(frozen=True)
class InstructionForm:
    """A form of the instruction, with a cell per CPU of the card."""

    scheme: InstructionScheme
    cells: tuple[FormOnCpu, ...]


@dataclass(frozen=True)
class InstructionCard:
    """A card. `cpus` are listed, `further` can be added.

    Attributes:
        silent: Forms without facts on the listed CPUs.
        relatives: The mnemonic with or without its leading `v`.
        elsewhere: Other instruction sets that have it.
        forms_left_out: Number of forms without the requested operands.
    """

    isa: ISA
    mnemonic: str
    forms_left_out: int
    cpus: tuple[Cpu, ...]
    further: tuple[Cpu, ...]
    forms: tuple[InstructionForm, ...]
    silent: tuple[InstructionScheme, ...]
    relatives: tuple[str, ...]
    elsewhere: tuple[ISA, ...]


def mnemonic_of(isa: ISA, word: str) -> str | None:
    """The mnemonic for a word or its alternative name: `cmovnz` is `cmovne`; None if there is none."""
    word = word.strip().lower()
    if isa.schemes.filter(mnemonic=word).exists():
        return word
    names = sorted(target_of(isa.name).names.meaning_of(word).mnemonics)
    return isa.schemes.filter(mnemonic__in=names).order_by("id").values_list("mnemonic", flat=True).first()


def card_of(request: InstructionRequest) -> InstructionCard:
    """The requested card. Raises `RequestError` for an unknown instruction set, mnemonic or CPU."""
    isa = ISA.objects.filter(name=request.isa).first()
    if isa is None:
        right = ", ".join(ISA.objects.values_list("name", flat=True))
        raise RequestError("isa", f"there is no instruction set {request.isa!r}", f"one of {right}")
    schemes = _forms(isa, request.mnemonic)
    mnemonic = schemes[0].mnemonic
    listed_schemes = [form for form in schemes if _has_operands(form, request.operands)]
    evidence = evidence_about(schemes)
    values = dict(_values(isa, schemes, {mapping for mapping, _ in evidence.verdicts}))
    cpus = [*cpus_with_facts(isa, values, evidence), *documents_with_facts(isa, schemes)]
    cpus.sort(
        key=lambda cpu: (cpu.machine is None or not cpu.machine.local, cpu.machine is None, cpu.imported)
    )
    selection = _chosen(cpus, request.chosen)
    labels = labels_of(selection)
    selection = tuple(labelled(cpu, labels) for cpu in selection)
    mappings = [cpu.mapping for cpu in selection if cpu.mapping is not None]
    texts = [scheme.text for scheme in schemes]
    grounds = grounds_by_mapping(mappings, texts)
    residuals = residuals_of([row.pk for row in mappings], texts)
    front_ends = _front_ends(cpu.machine.pk for cpu in selection if cpu.machine is not None)
    facts = _CardFacts(values, evidence, residuals, grounds, front_ends, labels)
    forms, silent = [], []
    for scheme in listed_schemes:
        cells = tuple(facts.cell(scheme, cpu) for cpu in selection)
        if all(cell.is_empty for cell in cells):
            silent.append(scheme)
        else:
            forms.append(InstructionForm(scheme, cells))
    # Those of the CPU at hand first, then usual ones; else in order.
    forms.sort(key=lambda form: (form.cells[0].is_empty, _is_unusual(form.scheme)))
    bare = mnemonic.removeprefix("v")
    relatives = isa.schemes.filter(mnemonic__in={bare, f"v{bare}"} - {mnemonic}).order_by("mnemonic")
    return InstructionCard(
        isa=isa,
        mnemonic=mnemonic,
        forms_left_out=len(schemes) - len(listed_schemes),
        cpus=selection,
        further=tuple(cpu for cpu in cpus if cpu.key not in {row.key for row in selection}),
        forms=tuple(forms),
        silent=tuple(silent),
        relatives=tuple(relatives.values_list("mnemonic", flat=True).distinct()),
        elsewhere=tuple(ISA.objects.exclude(pk=isa.pk).filter(schemes__mnemonic=mnemonic).distinct()),
    )


def _has_operands(form: InstructionScheme, words: Sequence[str]) -> bool:
    """Whether a form has all operands that the words abbreviate or begin."""
    meanings = [target_of(form.isa.name).names.meaning_of(word).operands or {word} for word in words]
    return all(
        any(f" {beginning.lower()}" in form.text.lower() for beginning in beginnings)
        for beginnings in meanings
    )


def _forms(isa: ISA, word: str) -> list[InstructionScheme]:
    """The forms of the instruction named by a word, in order. Raises `UnknownInstructionError`."""
    schemes = list(isa.schemes.filter(mnemonic=word.lower()))
    if not schemes:
        mnemonic = mnemonic_of(isa, word)
        if mnemonic is None:
            raise UnknownInstructionError("mnemonic", f"{isa.name} has no instruction {word!r}")
        schemes = list(isa.schemes.filter(mnemonic=mnemonic))
    return sorted(schemes, key=form_order)


def instruction_named(text: str) -> tuple[ISA, str] | None:
    """(instruction set, mnemonic) of a single word; instruction sets with a target come first. None if
    unknown.
    """
    if len(text.split()) != 1 or len(text) > 60:
        return None
    first = {target.name: place for place, target in enumerate(targets())}
    for isa in sorted(ISA.objects.all(), key=lambda isa: (first.get(isa.name, len(first)), isa.pk)):
        mnemonic = mnemonic_of(isa, text)
        if mnemonic is not None:
            return isa, mnemonic
    return None


_IMMEDIATE, _MEMORY = "immediate", "memory"


def form_order(scheme: InstructionScheme) -> tuple[object, ...]:
    """Sort key: registers first, then memory, then immediates; narrow before wide, few operands before
    many.
    """
    explicit = [operand for operand in scheme.operands if not operand.get("implicit")]
    kinds = {operand.get("kind") for operand in explicit}
    group = (_IMMEDIATE in kinds, bool(scheme.memory))
    return group, scheme.memory, scheme.width, len(explicit), scheme.text


def _is_unusual(scheme: InstructionScheme) -> bool:
    """Whether programs rarely use a form: of 8 and 16 bits, with a prefix, a mask, or a fixed immediate."""
    text = scheme.text
    return scheme.width in (8, 16) or not text.startswith(scheme.mnemonic) or "{" in text or " 0x" in text


def _values(
    isa: ISA, schemes: Sequence[InstructionScheme], judging: Collection[int]
) -> Iterable[tuple[PortMapping, Value]]:
    """(mapping, its µops of the forms), including mappings that only have verdicts on them."""
    parts = dict(load_parts(isa, {scheme.pk: scheme.text for scheme in schemes}))
    mapping_ids = {row.pk for row in parts} | set(judging)
    rows = PortMapping.objects.filter(pk__in=mapping_ids, isa=isa).defer("report").order_by("-pk")
    for row in rows.select_related("machine__isa", "run"):
        yield row, parts.get(row) or Value(ports=tuple(row.ports), usage={})


def _front_ends(machines: Iterable[int]) -> dict[int, FrontEndLimits]:
    """{machine: the limits of its newest measured front end}."""
    rows = MeasuredFrontEnd.objects.filter(machine__in=list(machines)).order_by("pk")
    newest = dict(rows.values_list("machine_id", "pk"))
    return {machine: _limits(pk) for machine, pk in newest.items()}


@lru_cache(maxsize=16)
def _limits(pk: int) -> FrontEndLimits:
    return measured_limits(MeasuredFrontEnd.objects.get(pk=pk))


def _chosen(cpus: Sequence[Cpu], keys: Sequence[str]) -> tuple[Cpu, ...]:
    if not keys:
        return tuple(cpus[:MAX_CPUS])
    by_key = {cpu.key: cpu for cpu in cpus}
    for key in keys:
        if key not in by_key:
            right = ", ".join(f"{cpu.key} ({cpu.name})" for cpu in cpus) or "none"
            raise RequestError("cpus", f"there are no facts about this instruction on {key!r}", right)
    return tuple(by_key[key] for key in keys)


@dataclass(frozen=True)
class _CardFacts:
    """Facts about all forms and mappings, from which cells are made."""

    values: Mapping[PortMapping, Value]
    evidence: FormEvidence
    residuals: Mapping[tuple[int, str], SchemeResidual]
    grounds: Mapping[int, MappingGrounds]
    front_ends: Mapping[int, FrontEndLimits]
    labels: Mapping[str | int, Mapping[str, str]]

    def cell(self, scheme: InstructionScheme, cpu: Cpu) -> FormOnCpu:
        if cpu.core_model is not None and cpu.document is not None:
            return facts_from_model(document_model(cpu.core_model), scheme, cpu.core, cpu.document)
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
        uops, slots, predicted = self._usage(cpu.mapping, scheme.text)
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
            other_usages=() if uops is None else tuple(self._other_usages(cpu, scheme.text, uops)),
            documents=documents_of(cpu.core, scheme.pk, scheme.text, alone, latency),
            grounds=NO_EVIDENCE if grounds is None else grounds.scheme_grounds(scheme.text),
            conflicts=() if grounds is None else grounds.conflict_words(scheme.text),
            conditions=self._conditions(scheme, cpu, latency),
        )

    def _conditions(
        self, scheme: InstructionScheme, cpu: Cpu, latency: FormLatency | None
    ) -> tuple[str, ...]:
        conditions = (
            () if latency is None else (*value_conditions(latency.pairs), *idiom_conditions(latency.idioms))
        )
        limits = None if cpu.machine is None else self.front_ends.get(cpu.machine.pk)
        return (*conditions, *front_end_conditions(limits, scheme))

    def _usage(self, mapping: PortMapping | None, text: str) -> tuple[Uops | None, int | None, float | None]:
        value = None if mapping is None else self.values.get(mapping)
        if value is None or text not in value.usage:
            return None, None, None
        slots = value.slots_of(text) if value.limits else None
        return value.usage[text], slots, inverse_throughput(value, Experiment.of([text]))

    def _other_usages(self, cpu: Cpu, text: str, uops: Uops) -> Iterable[OtherUsage]:
        for row in cpu.other_mappings:
            other_uops = self.values[row].usage.get(text)
            if other_uops is not None and differ(other_uops, uops):
                names = self.labels.get(row.pk, {})
                yield OtherUsage(row, other_uops, [names.get(port, port) for port in row.ports])


def facts_about(scheme: InstructionScheme, machine: Machine | None, mapping: PortMapping | None) -> FormOnCpu:
    """The facts about a form on a machine, with its µops by this mapping; None where there is none."""
    values = {} if mapping is None else {mapping: load_part(mapping, {scheme.pk: scheme.text})}
    mappings, texts = list(values), [scheme.text]
    residuals = residuals_of([row.pk for row in mappings], texts)
    grounds = grounds_by_mapping(mappings, texts)
    cpu = Cpu("", "", "" if machine is None else core_name(machine), machine, mapping, 1)
    front_ends = _front_ends([] if machine is None else [machine.pk])
    return _CardFacts(values, evidence_about([scheme]), residuals, grounds, front_ends, {}).cell(scheme, cpu)


def card_as_json(card: InstructionCard) -> Json:
    return {
        "isa": card.isa.name,
        "mnemonic": card.mnemonic,
        "cpus": [_cpu(cpu) for cpu in card.cpus],
        "further": [_cpu(cpu) for cpu in card.further],
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
        "ports": list(cpu.ports),
        "core_model_id": None if cpu.core_model is None else cpu.core_model.pk,
        "recorded": cpu.is_recorded,
    }


def _cell(cpu: Cpu, cell: FormOnCpu) -> Json:
    latency = cell.latency
    return {
        "cpu": cpu.key,
        "uops": None if cell.uops is None else uops_json(cell.uops, cpu.ports),
        "slots": cell.slots,
        "measured": None if cell.alone is None else cell.alone.cycles,
        "spread": None if cell.alone is None else cell.alone.spread,
        "predicted": cell.predicted,
        "experiment_id": None if cell.alone is None else cell.alone.experiment_id,
        "latency_least": None if latency is None else latency.least,
        "latency_most": None if latency is None else latency.most,
        "latency_at_most": None if latency is None else latency.at_most,
        "latency_set_id": None if latency is None or latency.latency_set is None else latency.latency_set.pk,
        "latencies": [] if latency is None else [_pair(pair) for pair in latency.pairs],
        "conditions": list(cell.conditions),
        "certainty": cell.certainty,
        "why": cell.why,
        "conflicts": list(cell.conflicts),
        "witnesses": cell.witnesses,
        "others": [
            {
                "mapping_id": usage.mapping.pk,
                "mapping": usage.mapping.name,
                "uops": uops_json(usage.uops, usage.mapping.ports),
            }
            for usage in cell.other_usages
        ],
        "documents": [{"source": d.source, "what": d.what, "said": d.documented} for d in cell.documents],
    }


def _pair(pair: Json) -> Json:
    names = ("source", "destination", "least", "most", "at_most")
    return {name: pair[name] for name in names} | {"breaks": pair.get("breaks", False)}

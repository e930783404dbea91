"""`manage.py explain`: prints the verdicts of an explained mapping, or the evidence for one scheme."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from inference.core.explain import REASONS, STAGES, NotCharacterised, SchemeFate, Witness
from inference.core.explain.regularity import PATTERNS, Pattern
from inference.core.mapping import described
from inference.core.protocols import Json
from inference.features.learning.explained.proofs import Proof, ProofStep, proof_of, untested
from inference.features.learning.explained.query import (
    VerdictQuery,
    is_explained,
    regularity_of,
    usages_in,
    verdicts,
)
from inference.models import InstructionScheme, PortMapping
from inference.storage.characterisations import ExplainedMapping
from inference.storage.instruction_sets import vocabulary
from inference.storage.judging import grounds_of
from inference.storage.names import by_name
from inference.web.data_command import DataCommand

ENTRIES = 2000  # verdicts whose µops are looked up at once


class Command(DataCommand):
    help = "List the verdicts of explainable inference, or print the witnesses of one scheme."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mapping", metavar="MAPPING")
        parser.add_argument("--scheme", metavar="TEXT", help="print the witnesses of this scheme")
        parser.add_argument(
            "--outcome", choices=[fate.value for fate in SchemeFate], default="", help="only these verdicts"
        )
        parser.add_argument("--stage", choices=list(STAGES), default="", help="decided in this stage")
        parser.add_argument(
            "--reason", choices=[r.value for r in REASONS], default="", help="excluded for this reason"
        )
        parser.add_argument(
            "--doubtful", action="store_true", help="only verdicts with doubts or alternatives"
        )
        parser.add_argument("--schemes", metavar="FILTER", default="", help="a search as in the scheme table")
        parser.add_argument("--regularity", action="store_true", help="patterns, and schemes that break them")
        parser.add_argument("--json", action="store_true", help="print one JSON object per line")

    def handle(self, *args: Any, **options: Any) -> None:
        row = by_name(PortMapping, options["mapping"])
        if options["scheme"]:
            lines = _proof(row, options["scheme"], options["json"])
        elif options["regularity"]:
            lines = _regularity(row, options["json"])
        else:
            lines = _verdicts(row, options)
        for line in lines:
            self.stdout.write(line)


def _proof(row: PortMapping, text: str, as_json: bool) -> Iterator[str]:
    scheme = InstructionScheme.objects.filter(isa=row.isa, text=text).first()
    if scheme is None:
        names = vocabulary(row.isa)
        resolved = names.resolve(text)
        scheme = row.isa.schemes.filter(text=resolved).first() if resolved else None
        if scheme is None:
            nearest = "; ".join(names.nearest(text, 3))
            raise CommandError(f"{row.isa.name} has no scheme {text!r}; the nearest: {nearest}")
    proof = proof_of(row, scheme)
    if proof is None:
        raise CommandError(f"{row.name!r} does not describe {scheme.text!r}")
    if as_json:
        yield json.dumps(proof_json(proof), ensure_ascii=False)
    else:
        yield from proof_lines(proof, ExplainedMapping.of(row.report))


def _verdicts(row: PortMapping, options: dict[str, Any]) -> Iterator[str]:
    if not is_explained(row):
        raise CommandError(f"{row.name!r} was not inferred by explainable inference: it has no verdicts")
    query = VerdictQuery(
        outcome=options["outcome"],
        stage=options["stage"],
        reason=options["reason"],
        q=options["schemes"],
        doubtful=options["doubtful"],
    )
    rows = list(verdicts(row, query).order_by("id"))
    for start in range(0, len(rows), ENTRIES):
        part = rows[start : start + ENTRIES]
        usages = usages_in(row, [verdict.scheme_id for verdict in part])
        grounds = grounds_of(row, [verdict.scheme.text for verdict in part])
        for verdict in part:
            uops = usages.get(verdict.scheme_id)
            reason = verdict.text or (REASONS[NotCharacterised(verdict.reason)] if verdict.reason else "")
            if options["json"]:
                answer = {
                    "scheme": verdict.scheme.text,
                    "outcome": verdict.outcome,
                    "stage": verdict.stage,
                    "reason": verdict.reason,
                    "text": reason,
                    "uops": None if uops is None else described(uops, row.ports),
                    "cycles": verdict.cycles,
                    "counted": verdict.counted,
                    "doubts": verdict.doubts,
                    "alternatives": [described(other, row.ports) for other in verdict.alternatives],
                    "conflicts": grounds.conflict_words(verdict.scheme.text),
                }
                yield json.dumps(answer, ensure_ascii=False)
                continue
            conclusion = f"{verdict.reason}: {reason}" if uops is None else described(uops, row.ports)
            marks = len(verdict.doubts) + len(verdict.alternatives)
            doubts = f"  (doubts: {marks})" if marks else ""
            yield f"{verdict.scheme.text} → {verdict.outcome}: {conclusion}{doubts}"
            yield from (f"  {words}" for words in grounds.conflict_words(verdict.scheme.text))


def _regularity(row: PortMapping, as_json: bool) -> Iterator[str]:
    regularity = regularity_of(row)
    if not as_json:
        share = f" ({100 * regularity.regular / regularity.judged:.0f} %)" if regularity.judged else ""
        yield f"{regularity.regular} of {regularity.judged} schemes follow all patterns that apply{share}"
        for pattern in Pattern:
            if checked := regularity.checked(pattern):
                yield f"  {sum(check.follows for check in checked)} of {len(checked)}: {PATTERNS[pattern]}"
    for check in regularity.breakers:
        if as_json:
            answer = {
                "scheme": check.scheme,
                "pattern": check.pattern.value,
                "beside": check.other,
                "uops": described(check.usage, row.ports),
                "expected": [described(uops, row.ports) for uops in check.expected],
            }
            yield json.dumps(answer, ensure_ascii=False)
        else:
            yield f"{check.scheme}: {check.in_words(row.ports)}"


def proof_lines(proof: Proof, explained: ExplainedMapping | None) -> Iterator[str]:
    """The evidence as lines of text; `explained` has the facts about all schemes."""
    value = proof.value
    yield f"{proof.scheme.text}: {proof.headline}"
    if proof.word is not None:
        yield proof.word.explanation
    yield from proof.conflicts
    if value is not None and value.text and value.text != proof.reason:
        yield f"  {value.text}"
    alone = [] if value is None or value.cycles is None else [f"takes {value.cycles:.3g} cycles alone"]
    if proof.explains is not None:
        alone.append(f"its µops explain {proof.explains:.3g}")
    if value is not None and value.counted is not None:
        alone.append(f"{value.counted:g} µops are counted")
    if alone:
        yield f"  {'; '.join(alone)}"
    for run, steps in proof.runs:
        yield f"run {run}:" if len(proof.runs) > 1 else "witnesses:"
        for step in steps:
            yield from _step_lines(step)
        for group in untested(explained, steps):
            sets = ", ".join(described(uops, proof.ports).removeprefix("1×") for uops in group.sets)
            reason = "not tested"
            if group.by is not None:
                reason = f"part of {group.by.where}, to which nothing is bound (step {group.by.number})"
            yield f"  {sets}: {reason}"
    yield from _remarks(proof)


def _step_lines(step: ProofStep) -> Iterator[str]:
    witness = step.witness
    yield f"  {step.number}. {step.where}: {step.conclusion}"
    yield f"     {witness.base}: {_times(step.expected_base, witness.base_cycles)}"
    yield f"     {witness.tested}: {_times(witness.expected_cycles, witness.cycles)}"
    if step.formula:
        outcome = f" → {step.left}" if step.left else ""
        yield f"     {step.formula}{outcome}, within {witness.tolerance:.2f}, of {witness.samples}"


def _times(expected: float | None, measured: float | None) -> str:
    texts = ["–" if cycles is None else f"{cycles:.3f}" for cycles in (expected, measured)]
    return f"{texts[0]} cycles expected, {texts[1]} measured"


def _remarks(proof: Proof) -> Iterator[str]:
    value = proof.value
    if value is not None:
        for number, verdict in enumerate(value.runs, start=1):
            yield f"run {number} concluded {verdict}"
        for fact in value.facts:
            yield f"fact: {fact.experiment}: {_times(fact.expected, fact.observed)}"
        for doubt in value.doubts:
            yield f"doubt: {doubt}"
        for usage in value.alternatives:
            yield f"also possible: {described(usage, proof.ports)}"
    for check in proof.checks:
        yield f"{'regular' if check.follows else 'irregular'}: {check.in_words(proof.ports)}"


def proof_json(proof: Proof) -> Json:
    value = proof.value
    return {
        "scheme": proof.scheme.text,
        "uops": described(proof.usage, proof.ports) if proof.described else None,
        "explains": proof.explains,
        "word": None if proof.word is None else proof.word.as_json(),
        "conflicts": list(proof.conflicts),
        "outcome": None if value is None else value.outcome.value,
        "stage": None if value is None else value.stage,
        "reason": "" if value is None else value.reason.value,
        "text": "" if value is None else value.text,
        "cycles": None if value is None else value.cycles,
        "counted": None if value is None else value.counted,
        "witnesses": [_witness_json(step.witness, step) for step in proof.steps],
        "facts": []
        if value is None
        else [
            {"experiment": str(fact.experiment), "expected": fact.expected, "measured": fact.observed}
            for fact in value.facts
        ],
        "runs": [] if value is None else list(value.runs),
        "doubts": [] if value is None else list(value.doubts),
        "alternatives": []
        if value is None
        else [described(usage, proof.ports) for usage in value.alternatives],
        "irregular": [check.in_words(proof.ports) for check in proof.checks if not check.follows],
    }


def _witness_json(witness: Witness, step: ProofStep) -> Json:
    return {
        "run": witness.run,
        "ports": step.where,
        "base": str(witness.base),
        "base_expected": step.expected_base,
        "base_cycles": witness.base_cycles,
        "tested": str(witness.tested),
        "expected": witness.expected_cycles,
        "cycles": witness.cycles,
        "samples": witness.samples,
        "surplus": witness.surplus,
        "below": witness.below,
        "uops": witness.uops,
        "tolerance": witness.tolerance,
        "seen": witness.seen.value,
    }

"""A proof of a scheme's µops as text for the shell, and as plain JSON."""

from __future__ import annotations

from collections.abc import Iterator

from inference.core.explain import Witness
from inference.core.mapping import described
from inference.core.protocols import Json
from inference.features.learning.explained.proofs import Proof, ProofStep, untested
from inference.storage.characterisations import ExplainedMapping


def proof_lines(proof: Proof, explained: ExplainedMapping | None) -> Iterator[str]:
    """What the page of the proof says, a line each; `explained` is what concerns all schemes."""
    value = proof.value
    yield f"{proof.scheme.text}: {proof.headline}"
    if proof.word is not None:
        yield proof.word.in_words
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
        for rest in untested(explained, steps):
            sets = ", ".join(described(uops, proof.ports).removeprefix("1×") for uops in rest.sets)
            why = "not tested"
            if rest.by is not None:
                why = f"part of {rest.by.where}, to which nothing is bound (step {rest.by.number})"
            yield f"  {sets}: {why}"
    yield from _remarks(proof)


def _step_lines(step: ProofStep) -> Iterator[str]:
    witness = step.witness
    yield f"  {step.number}. {step.where}: {step.conclusion}"
    yield f"     {witness.base}: {_times(step.expected_base, witness.base_cycles)}"
    yield f"     {witness.tested}: {_times(witness.expected_cycles, witness.cycles)}"
    if step.formula:
        left = f" → {step.left}" if step.left else ""
        yield f"     {step.formula}{left}, within {witness.tolerance:.2f}, of {witness.samples}"


def _times(expected: float | None, measured: float | None) -> str:
    told = ["–" if cycles is None else f"{cycles:.3f}" for cycles in (expected, measured)]
    return f"{told[0]} cycles expected, {told[1]} measured"


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

"""Imported results of explainable inference as the values that an inference on this site would store.

The published files hold conclusions, not measurements. Witnesses come only from the experiments that
rejections quote and from experiment sets that the user names as evidence.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inference.core.experiment import Experiment, Measured
from inference.core.explain import (
    BlockingClass,
    Characterisation,
    NotCharacterised,
    SchemeFate,
    VerdictFact,
    Witness,
    WitnessOutcome,
)
from inference.core.explain.events import class_json, funnel_of
from inference.core.explain.settings import COUNTER, CYCLES
from inference.core.explain.surplus import MIN_COPIES, flood_of, split_surplus, surplus_by_time
from inference.core.mapping import PortMapping, Uops
from inference.core.protocols import Json
from inference.formats.document import VerdictEntry
from inference.formats.rejects_json import Flood, Rejection, Rejects, rejection_of
from inference.isa.name_parsing import read
from inference.isa.targets import preferred_schemes

EPSILON = 0.02
"""Cycles per instruction within which the published runs took times for equal."""

INTEGER_TOLERANCE = 0.15
"""Cycles by which the surplus of their floods might differ from an integer number of µops."""

NO_PORT_USAGE = "the imported table has no port usage for it, and does not say why"

_MEMORY = re.compile(r"mem|addr|ptr", re.IGNORECASE)


@dataclass(frozen=True)
class ImportedExplanation:
    """Verdicts on all schemes of an imported mapping; `report`: the entry `explain` of its report."""

    characterisations: tuple[Characterisation, ...]
    report: Json

    @property
    def outcomes(self) -> Counter[SchemeFate]:
        return Counter(verdict.outcome for verdict in self.characterisations)


@dataclass(frozen=True)
class _Known:
    """What speaks for and against verdicts.

    Attributes:
        rejections: One mapping per run, by scheme.
        floods: Witnesses from measured experiments, by scheme.
        classes: Classes by blocking instruction.
    """

    rejections: tuple[Mapping[str, Rejection], ...]
    floods: Mapping[str, tuple[Witness, ...]]
    classes: Mapping[str, BlockingClass]


def explanation_of(
    mapping: PortMapping,
    verdicts: Mapping[str, VerdictEntry],
    rejects: Sequence[Rejects] = (),
    schemes: Mapping[str, str] | None = None,
    measured: Sequence[Measured] = (),
) -> ImportedExplanation:
    """Combine the parts of an imported result.

    Args:
        mapping: Port mapping of the characterised schemes.
        verdicts: {scheme: verdict}, characterised or not.
        rejects: Rejected schemes, one list per run.
        schemes: {name as written: scheme}, for the names in `rejects`.
        measured: Experiments of the same inference; floods among them become witnesses.
    """
    schemes = schemes or {}
    rejections = tuple(
        {schemes[name]: rejection_of(name, why, schemes) for name, why in run.items() if name in schemes}
        for run in rejects
    )
    occurrences = Counter(
        reject.flood.blocker for run in rejections for reject in run.values() if reject.flood is not None
    )
    occurrences.update(scheme for result in measured for scheme in result.experiment.schemes)
    classes = blocking_classes(mapping, occurrences)
    by_blocker = {members.blocker: members for members in classes}
    context = _Known(rejections, measured_floods(measured, by_blocker), by_blocker)
    values = tuple(
        _characterisation(mapping, scheme, verdict, context) for scheme, verdict in verdicts.items()
    )
    report = _report(mapping, values, classes, bool(rejects), len(measured))
    return ImportedExplanation(values, report)


def blocking_classes(mapping: PortMapping, uses: Mapping[str, int] | None = None) -> list[BlockingClass]:
    """Schemes of a single µop by their ports, narrow sets first.

    `uses`: in how many known experiments of the inference a scheme occurs. The one in most of them
    stands for the others; where none does, a common one, else the simplest. For µops that no scheme has
    alone, schemes whose only other µop is of a class stand in (improper blocking instructions, §6.3.4).
    """
    counts = uses or {}
    ranks = {scheme: rank for rank, scheme in enumerate(preferred_schemes())}
    members: dict[int, list[str]] = defaultdict(list)
    candidates: dict[int, list[tuple[str, Uops]]] = defaultdict(list)
    for scheme, uops in mapping.usage.items():
        if len(uops) == 1 and uops[0][1] == 1:
            members[uops[0][0]].append(scheme)
        elif len(uops) == 2 and all(count == 1 for _, count in uops):
            for mask, _ in uops:
                candidates[mask].append((scheme, tuple(uop for uop in uops if uop[0] != mask)))

    def preference(scheme: str) -> tuple[int, int, bool, int, int, str]:
        rank = ranks.get(scheme, len(ranks))
        return -counts.get(scheme, 0), rank, bool(_MEMORY.search(scheme)), *_size(scheme), scheme

    proper = []
    for mask, schemes in members.items():
        schemes.sort(key=preference)
        proper.append(BlockingClass(schemes[0], mask.bit_count(), mask, tuple(schemes)))
    improper = []
    for mask, pairs in candidates.items():
        fitting = [(scheme, beside) for scheme, beside in pairs if beside[0][0] in members]
        if mask in members or not fitting:
            continue
        blocker, beside = min(fitting, key=lambda pair: preference(pair[0]))
        improper.append(BlockingClass(blocker, mask.bit_count(), mask, (blocker,), True, beside))
    return sorted([*proper, *improper], key=lambda members: (members.width, members.mask))


def _size(scheme: str) -> tuple[int, int]:
    reading = read(scheme)
    return (len(reading.operands) if reading else 0), len(scheme)


def measured_floods(
    measured: Iterable[Measured], classes: Mapping[str, BlockingClass]
) -> dict[str, tuple[Witness, ...]]:
    """{scheme: witnesses} from measured experiments of copies of a blocking instruction and one instance."""
    cycles = {row.experiment: row.cycles for row in measured if row.usable and row.cycles is not None}
    by_scheme: dict[str, list[Witness]] = defaultdict(list)
    for experiment, flood_cycles in cycles.items():
        for scheme, flood in _floods(experiment, classes):
            block = classes[flood.blocker]
            base = cycles.get(flood_of(flood.blocker, flood.copies), flood.copies / block.width)
            surplus = surplus_by_time(base, flood_cycles, block.width)
            by_scheme[scheme].append(_witness(scheme, block, flood.copies, surplus, base, flood_cycles))
    return {scheme: tuple(witnesses) for scheme, witnesses in by_scheme.items()}


def _floods(experiment: Experiment, classes: Mapping[str, BlockingClass]) -> Iterator[tuple[str, Flood]]:
    match experiment.terms:
        case [first, second]:
            for (blocker, copies), (scheme, count) in ((first, second), (second, first)):
                if blocker in classes and copies >= MIN_COPIES and count == 1:
                    yield scheme, Flood(blocker, copies, 0.0)


def _witness(
    scheme: str, block: BlockingClass, copies: int, surplus: float, base: float, cycles: float, run: int = 1
) -> Witness:
    """A witness from published numbers; a surplus far from a whole number is odd."""
    uops = round(surplus)
    is_odd = uops < 0 or abs(surplus - uops) > INTEGER_TOLERANCE * block.width
    outcome = WitnessOutcome.ODD if is_odd else WitnessOutcome.USES if uops else WitnessOutcome.EVADES
    return Witness(
        blocker=block.blocker,
        mask=block.mask,
        copies=copies,
        base=flood_of(block.blocker, copies),
        base_cycles=base,
        tested=flood_of(block.blocker, copies, scheme),
        cycles=cycles,
        samples=1,
        surplus=surplus,
        below=0,
        uops=0 if is_odd else uops,
        tolerance=INTEGER_TOLERANCE * block.width,
        seen=outcome,
        run=run,
    )


def _characterisation(
    mapping: PortMapping, scheme: str, verdict: VerdictEntry, context: _Known
) -> Characterisation:
    """The verdict on a scheme, as the published program reached it, with the witnesses that are known."""
    rejects = [run.get(scheme) for run in context.rejections]
    reasons = [rejection for rejection in rejects if rejection is not None]
    witnesses = (
        *_quoted_witnesses(scheme, rejects, context),
        *_without_subsets(context.floods.get(scheme, ())),
    )
    common: dict[str, Any] = {
        "scheme": scheme,
        "stage": "remaining",
        "cycles": verdict.cycles,
        "counted": verdict.counted,
        "witnesses": witnesses,
        "runs": tuple("not rejected" if entry is None else f"rejected: {entry.text}" for entry in rejects),
    }
    if verdict.uops is not None:
        usage = mapping.usage[scheme]
        return Characterisation(
            outcome=SchemeFate.CHARACTERISED, usage=usage, doubts=_doubts(usage, verdict, rejects), **common
        )
    first = next(iter(reasons), Rejection(NotCharacterised.NONE, NO_PORT_USAGE))
    odd = [witness for witness in witnesses if witness.seen is WitnessOutcome.ODD]
    facts = tuple(VerdictFact(witness.tested, witness.expected_cycles, witness.cycles) for witness in odd)
    alone = () if verdict.cycles is None else (VerdictFact(Experiment.of([scheme]), None, verdict.cycles),)
    return Characterisation(
        outcome=SchemeFate.EXCLUDED, reason=first.reason, text=first.text, facts=facts or alone, **common
    )


def _quoted_witnesses(scheme: str, rejects: Sequence[Rejection | None], context: _Known) -> Iterator[Witness]:
    """Witnesses that rejections quote.

    `base_cycles` is computed from the ports, as the published program did.
    """
    for run, rejection in enumerate(rejects, start=1):
        flood = None if rejection is None else rejection.flood
        block = None if flood is None else context.classes.get(flood.blocker)
        if flood is None or block is None:
            continue
        base = flood.copies / block.width
        yield _witness(
            scheme, block, flood.copies, flood.surplus, base, base + flood.surplus / block.width, run
        )


def _without_subsets(witnesses: Sequence[Witness]) -> Iterator[Witness]:
    """Measured floods of one scheme, without the µops that floods of subsets of their ports account for."""
    uops_by_mask: dict[int, int] = {}
    for flood in sorted(witnesses, key=lambda flood: (flood.mask.bit_count(), flood.mask)):
        split = split_surplus(flood.below + flood.uops, flood.mask, uops_by_mask)
        if flood.seen is WitnessOutcome.ODD or split.uops < 0:
            yield replace(flood, seen=WitnessOutcome.ODD)
            continue
        uops_by_mask[flood.mask] = split.uops
        outcome = WitnessOutcome.USES if split.uops else WitnessOutcome.EVADES
        yield replace(flood, below=split.below, uops=split.uops, seen=outcome)


def _doubts(usage: Uops, verdict: VerdictEntry, rejections: Sequence[Rejection | None]) -> tuple[str, ...]:
    doubts = []
    uops = sum(count for _, count in usage)
    if verdict.counted is not None and abs(verdict.counted - uops) > 0.5:
        doubts.append(f"{uops} µops are said to use ports, {verdict.counted:g} were counted")
    rejected = sum(rejection is not None for rejection in rejections)
    if rejected:
        doubts.append(f"{rejected} of {len(rejections)} runs rejected it; the imported mapping has its µops")
    return tuple(doubts)


def _report(
    mapping: PortMapping,
    verdicts: Sequence[Characterisation],
    classes: Sequence[BlockingClass],
    has_rejections: bool,
    measured: int,
) -> Json:
    """The entry `explain` of the mapping's report, see `inference.storage.characterisations`."""
    tested = {witness.tested for verdict in verdicts for witness in verdict.witnesses}
    alone = sum(verdict.cycles is not None for verdict in verdicts)
    experiments = len(tested) + alone + measured
    warnings = [
        "Imported conclusions: what was measured is known only as far as the imported files hold it. "
        "Witnesses can be measured again on any machine."
    ]
    if has_rejections:
        warnings.append(
            "In the witnesses quoted from rejections, what the flood takes alone is reckoned from its ports, "
            "as the published program did."
        )
    doubted = sum(bool(verdict.doubts) for verdict in verdicts)
    if doubted:
        warnings.append(
            f"{doubted} characterised schemes have doubts: another number of µops counted, or rejections."
        )
    used = {mask for uops in mapping.usage.values() for mask, _ in uops}
    if unblocked := used - {members.mask for members in classes}:
        warnings.append(f"No scheme blocks {len(unblocked)} of the {len(used)} port sets that µops have.")
    return {
        "classes": [class_json(members) for members in classes],
        "r_max": mapping.r_max,
        "noise": 0.0,
        "counts_from": COUNTER if any(verdict.counted is not None for verdict in verdicts) else "",
        "warnings": warnings,
        "verdict": "",
        "alternatives": 0,
        "experiments": experiments,
        "measurements": experiments,
        "per_scheme": round(experiments / max(1, len(verdicts)), 2),
        "seconds": 0.0,
        "funnel": funnel_of(verdicts),
        "epsilon": EPSILON,
        "evidence": CYCLES,
    }

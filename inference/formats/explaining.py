"""What an imported file says of explainable inference, as the values that an inference here would store.

The published files hold conclusions, not measurements: of the experiments behind them only those are known
that rejections quote, and those of experiment sets that are named as evidence. Nothing else is a witness.
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
    Seen,
    VerdictFact,
    Witness,
)
from inference.core.explain.events import class_json, funnel_of
from inference.core.explain.settings import COUNTER, CYCLES
from inference.core.explain.surplus import LEAST_COPIES, divided, flooded, surplus_by_time
from inference.core.mapping import PortMapping, Uops
from inference.core.protocols import Json
from inference.formats.document import VerdictEntry
from inference.formats.rejects_json import Flood, Rejection, Rejects, rejection_of
from inference.isa.reading import read
from inference.isa.targets import preferred_schemes

EPSILON = 0.02  # cycles per instruction, with which the published runs compared times
WHOLE_EPSILON = 0.15  # cycles by which their floods might be off a whole number of µops

UNTOLD = "the imported table has no port usage for it, and does not say why"

_MEMORY = re.compile(r"mem|addr|ptr", re.IGNORECASE)


@dataclass(frozen=True)
class ImportedExplanation:
    """Verdicts on all schemes of an imported mapping, and the entry `explain` of its report."""

    characterisations: tuple[Characterisation, ...]
    report: Json

    @property
    def outcomes(self) -> Counter[SchemeFate]:
        """How many schemes of each outcome."""
        return Counter(each.outcome for each in self.characterisations)


@dataclass(frozen=True)
class _Told:
    """All that is known beside the verdicts: rejections by run and scheme, floods measured elsewhere."""

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
    """Put together what was imported. `rejects`: one list per run; `schemes`: {name as written: scheme}.

    `measured`: experiments of the same inference, in most of which its blocking instructions take part;
    floods among them become witnesses.
    """
    schemes = schemes or {}
    rejections = tuple(
        {schemes[name]: rejection_of(name, why, schemes) for name, why in each.items() if name in schemes}
        for each in rejects
    )
    often = Counter(
        each.flood.blocker for run in rejections for each in run.values() if each.flood is not None
    )
    often.update(scheme for each in measured for scheme in each.experiment.schemes)
    classes = blocking_classes(mapping, often)
    by_blocker = {each.blocker: each for each in classes}
    told = _Told(rejections, measured_floods(measured, by_blocker), by_blocker)
    found = tuple(_characterisation(mapping, scheme, verdict, told) for scheme, verdict in verdicts.items())
    return ImportedExplanation(found, _report(mapping, found, classes, bool(rejects), len(measured)))


def blocking_classes(mapping: PortMapping, often: Mapping[str, int] | None = None) -> list[BlockingClass]:
    """Schemes of a single µop by their ports, narrow sets first.

    `often`: in how many known experiments of the inference a scheme occurs. The one in most of them stands
    for the others; where none does, a common one, else the simplest. For µops that no scheme has alone,
    schemes whose only other µop is of a class stand in (improper blocking instructions, §6.3.4).
    """
    known = often or {}
    places = {scheme: place for place, scheme in enumerate(preferred_schemes())}
    members: dict[int, list[str]] = defaultdict(list)
    others: dict[int, list[tuple[str, Uops]]] = defaultdict(list)
    for scheme, uops in mapping.usage.items():
        if len(uops) == 1 and uops[0][1] == 1:
            members[uops[0][0]].append(scheme)
        elif len(uops) == 2 and all(count == 1 for _, count in uops):
            for mask, _ in uops:
                others[mask].append((scheme, tuple(uop for uop in uops if uop[0] != mask)))

    def preference(scheme: str) -> tuple[int, int, bool, int, int, str]:
        place = places.get(scheme, len(places))
        return -known.get(scheme, 0), place, bool(_MEMORY.search(scheme)), *_size(scheme), scheme

    proper = []
    for mask, listed in members.items():
        listed.sort(key=preference)
        proper.append(BlockingClass(listed[0], mask.bit_count(), mask, tuple(listed)))
    improper = []
    for mask, pairs in others.items():
        fitting = [(scheme, beside) for scheme, beside in pairs if beside[0][0] in members]
        if mask in members or not fitting:
            continue
        blocker, beside = min(fitting, key=lambda pair: preference(pair[0]))
        improper.append(BlockingClass(blocker, mask.bit_count(), mask, (blocker,), True, beside))
    return sorted([*proper, *improper], key=lambda each: (each.width, each.mask))


def _size(scheme: str) -> tuple[int, int]:
    reading = read(scheme)
    return (len(reading.operands) if reading else 0), len(scheme)


def measured_floods(
    measured: Iterable[Measured], classes: Mapping[str, BlockingClass]
) -> dict[str, tuple[Witness, ...]]:
    """Witnesses among measured experiments, by scheme: copies of one blocking instruction, and the scheme."""
    cycles = {each.experiment: each.cycles for each in measured if each.usable and each.cycles is not None}
    found: dict[str, list[Witness]] = defaultdict(list)
    for experiment, took in cycles.items():
        for scheme, flood in _floods(experiment, classes):
            block = classes[flood.blocker]
            base = cycles.get(flooded(flood.blocker, flood.copies), flood.copies / block.width)
            surplus = surplus_by_time(base, took, block.width)
            found[scheme].append(_witness(scheme, block, flood.copies, surplus, base, took))
    return {scheme: tuple(witnesses) for scheme, witnesses in found.items()}


def _floods(experiment: Experiment, classes: Mapping[str, BlockingClass]) -> Iterator[tuple[str, Flood]]:
    match experiment.terms:
        case [(first, one), (second, other)]:
            for blocker, copies, scheme, single in ((first, one, second, other), (second, other, first, one)):
                if blocker in classes and copies >= LEAST_COPIES and single == 1:
                    yield scheme, Flood(blocker, copies, 0.0)


def _witness(
    scheme: str, block: BlockingClass, copies: int, surplus: float, base: float, took: float, run: int = 1
) -> Witness:
    whole = round(surplus)
    odd = whole < 0 or abs(surplus - whole) > WHOLE_EPSILON * block.width
    seen = Seen.ODD if odd else Seen.USES if whole else Seen.EVADES
    return Witness(
        blocker=block.blocker,
        mask=block.mask,
        copies=copies,
        base=flooded(block.blocker, copies),
        base_cycles=base,
        tested=flooded(block.blocker, copies, scheme),
        cycles=took,
        samples=1,
        surplus=surplus,
        below=0,
        uops=0 if odd else whole,
        tolerance=WHOLE_EPSILON * block.width,
        seen=seen,
        run=run,
    )


def _characterisation(
    mapping: PortMapping, scheme: str, verdict: VerdictEntry, told: _Told
) -> Characterisation:
    said = [run.get(scheme) for run in told.rejections]
    rejected = [each for each in said if each is not None]
    witnesses = (*_quoted_witnesses(scheme, said, told), *_below(told.floods.get(scheme, ())))
    common: dict[str, Any] = {
        "scheme": scheme,
        "stage": "remaining",
        "cycles": verdict.cycles,
        "counted": verdict.counted,
        "witnesses": witnesses,
        "runs": tuple("not rejected" if each is None else f"rejected: {each.text}" for each in said),
    }
    if verdict.uops is not None:
        usage = mapping.usage[scheme]
        return Characterisation(
            outcome=SchemeFate.CHARACTERISED, usage=usage, doubts=_doubts(usage, verdict, said), **common
        )
    first = next(iter(rejected), Rejection(NotCharacterised.NONE, UNTOLD))
    facts = tuple(VerdictFact(w.tested, w.expected_cycles, w.cycles) for w in witnesses if w.seen is Seen.ODD)
    alone = () if verdict.cycles is None else (VerdictFact(Experiment.of([scheme]), None, verdict.cycles),)
    return Characterisation(
        outcome=SchemeFate.EXCLUDED, reason=first.reason, text=first.text, facts=facts or alone, **common
    )


def _quoted_witnesses(scheme: str, said: Sequence[Rejection | None], told: _Told) -> Iterator[Witness]:
    """Witnesses that rejections quote. Their program reckoned what the flood takes alone."""
    for run, rejection in enumerate(said, start=1):
        flood = None if rejection is None else rejection.flood
        block = None if flood is None else told.classes.get(flood.blocker)
        if flood is None or block is None:
            continue
        base = flood.copies / block.width
        yield _witness(
            scheme, block, flood.copies, flood.surplus, base, base + flood.surplus / block.width, run
        )


def _below(witnesses: Sequence[Witness]) -> Iterator[Witness]:
    """Measured floods of one scheme, what narrower ones have shown taken away from wider ones."""
    found: dict[int, int] = {}
    for each in sorted(witnesses, key=lambda w: (w.mask.bit_count(), w.mask)):
        split = divided(each.below + each.uops, each.mask, found)
        if each.seen is Seen.ODD or split.uops < 0:
            yield replace(each, seen=Seen.ODD)
            continue
        found[each.mask] = split.uops
        seen = Seen.USES if split.uops else Seen.EVADES
        yield replace(each, below=split.below, uops=split.uops, seen=seen)


def _doubts(usage: Uops, verdict: VerdictEntry, said: Sequence[Rejection | None]) -> tuple[str, ...]:
    doubts = []
    uops = sum(count for _, count in usage)
    if verdict.counted is not None and abs(verdict.counted - uops) > 0.5:
        doubts.append(f"{uops} µops are said to use ports, {verdict.counted:g} were counted")
    rejected = sum(each is not None for each in said)
    if rejected:
        doubts.append(f"{rejected} of {len(said)} runs rejected it; the imported mapping has its µops")
    return tuple(doubts)


def _report(
    mapping: PortMapping,
    found: Sequence[Characterisation],
    classes: Sequence[BlockingClass],
    rejected: bool,
    measured: int,
) -> Json:
    """The entry `explain` of the mapping's report, see `inference.storage.characterisations`."""
    told = {witness.tested for each in found for witness in each.witnesses}
    alone = sum(each.cycles is not None for each in found)
    experiments = len(told) + alone + measured
    warnings = [
        "Imported conclusions: what was measured is known only as far as the imported files hold it. "
        "Witnesses can be measured again on any machine."
    ]
    if rejected:
        warnings.append(
            "In the witnesses quoted from rejections, what the flood takes alone is reckoned from its ports, "
            "as the published program did."
        )
    doubted = sum(bool(each.doubts) for each in found)
    if doubted:
        warnings.append(
            f"{doubted} characterised schemes have doubts: another number of µops counted, or rejections."
        )
    used = {mask for uops in mapping.usage.values() for mask, _ in uops}
    if unblocked := used - {each.mask for each in classes}:
        warnings.append(f"No scheme blocks {len(unblocked)} of the {len(used)} port sets that µops have.")
    return {
        "classes": [class_json(each) for each in classes],
        "r_max": mapping.r_max,
        "noise": 0.0,
        "counts_from": COUNTER if any(each.counted is not None for each in found) else "",
        "warnings": warnings,
        "verdict": "",
        "alternatives": 0,
        "experiments": experiments,
        "measurements": experiments,
        "per_scheme": round(experiments / max(1, len(found)), 2),
        "seconds": 0.0,
        "funnel": funnel_of(found),
        "epsilon": EPSILON,
        "evidence": CYCLES,
    }

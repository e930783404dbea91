"""A mapping with a verdict on every scheme, and witnesses, as explainable inference leaves one."""

from __future__ import annotations

from typing import Any

from inference.core.explain import Characterisation, NotCharacterised, SchemeFate, Seen, Witness
from inference.core.explain.events import funnel_of
from inference.core.explain.surplus import flooded
from inference.core.mapping import PortMapping as Mapping
from inference.models import ISA, PortMapping
from inference.storage.characterisations import KEY, store_characterisations
from inference.storage.rows import store_mapping

_REPORT = {
    "classes": [],
    "r_max": 6.0,
    "noise": 0.001,
    "counts_from": "none",
    "warnings": [],
    "verdict": "the only mapping that explains the measurements",
    "alternatives": 0,
    "experiments": 10_000,
    "measurements": 110_000,
    "per_scheme": 13.3,
    "seconds": 3600.0,
    "epsilon": 0.02,
    "evidence": "cycles",
}


def explained_mapping(isa: ISA, truth: Mapping) -> PortMapping:
    """The same mapping with a verdict on every scheme, each with four witnesses; a tenth is left out."""
    texts = list(truth.usage)
    verdicts = []
    for number, text in enumerate(texts):
        witnesses = tuple(_witness(text, texts[k], 1 << k) for k in range(4))
        verdict = {"usage": truth.usage[text], "cycles": 0.5, "counted": 1.0}
        reason = {"reason": NotCharacterised.NOT_WHOLE, "text": "1.48 µops"}
        is_characterised = number % 10 > 0
        outcome = SchemeFate.CHARACTERISED if is_characterised else SchemeFate.EXCLUDED
        facts: dict[str, Any] = verdict if is_characterised else reason
        verdicts.append(Characterisation(text, outcome, "remaining", witnesses=witnesses, **facts))
    usage = {each.scheme: each.usage for each in verdicts if each.outcome is SchemeFate.CHARACTERISED}
    report = {**_REPORT, "funnel": funnel_of(verdicts)}
    row = store_mapping(
        "explained",
        isa,
        Mapping(truth.ports, usage, r_max=6.0),
        origin=PortMapping.Origin.IMPORT,
        source="generated",
        report={KEY: report},
    )
    store_characterisations(row, verdicts)
    return row


def _witness(scheme: str, blocker: str, mask: int) -> Witness:
    return Witness(
        blocker=blocker,
        mask=mask,
        copies=10,
        base=flooded(blocker, 10),
        base_cycles=10.0,
        tested=flooded(blocker, 10, scheme),
        cycles=11.0,
        samples=3,
        surplus=1.0,
        below=0,
        uops=1,
        tolerance=0.3,
        seen=Seen.USES,
    )

"""Explainable inference on a simulated Zen+: the published mapping of 1,700 schemes is the truth (§6.3).

R_max 5, Gaussian noise of 0.005 cycles per instruction, and 2 % of the schemes misbehave as §6.3 describes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Result
from benchmarks._measured import cost_of
from benchmarks._published_data import published
from benchmarks._silent import Silent
from inference.core.blocking_by_cegar import solve_by_cegar
from inference.core.explain import (
    ExplainProblem,
    ExplainResult,
    ExplainSettings,
    NotCharacterised,
    SchemeFate,
    infer,
)
from inference.core.identity import best_renaming, structural_agreement
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.protocols import Json
from inference.measuring.simulated import NOTHING, PORTS, UOPS, Quirk, SimulatedProcessor
from tests.core.published import published_mapping

PUBLISHED_SCHEMES = 1_640  # that the published inference characterised
PUBLISHED_MINUTES = 20 * 60.0  # of the published inference
SKYLAKE_R_MAX = 4.0  # instructions per cycle
SKYLAKE_BAR = 0.9  # share of the true µops that are to be found
R_MAX = 5.0  # instructions per cycle, of Zen+
NOISE = 0.005  # cycles per instruction, standard deviation
ODD_SHARE = 0.02  # of the schemes that misbehave as §6.3 describes
SEED = 1
SHOWN = 10  # wrong schemes that a result names

TRUE_REASONS = {
    Quirk.TWO_SPEEDS: {NotCharacterised.UNSTABLE, NotCharacterised.DISAGREEMENT},
    Quirk.NOT_PIPELINED: {NotCharacterised.SLOW, NotCharacterised.CLASH, NotCharacterised.TOO_SLOW},
    Quirk.THIRD_PORT: {
        NotCharacterised.MORE_UOPS,
        NotCharacterised.CONTRADICTORY,
        NotCharacterised.CLASH,
        NotCharacterised.NEGATIVE,
        NotCharacterised.SLOW,  # where ports are counted: the port kept busy shows in its time alone
    },
    Quirk.WAITS: {
        NotCharacterised.MORE_UOPS,
        NotCharacterised.NOT_INTEGER,
        NotCharacterised.NEGATIVE,
        NotCharacterised.CONTRADICTORY,
        NotCharacterised.CLASH,
        NotCharacterised.MICROCODE,
    },
    Quirk.MICROCODE: {
        NotCharacterised.MICROCODE,
        NotCharacterised.SLOW,
        NotCharacterised.MORE_UOPS,
        NotCharacterised.NOT_INTEGER,
    },
}
"""What may truly be said of a scheme that misbehaves in this way."""

HINT = PortMapping(
    tuple("0123456789"),
    {
        "add RW:GPR:32, R:GPR:32": uops_of([(0b1111000000, 1)]),
        "vpor W:XMM0..15, R:XMM0..15, R:XMM0..15": uops_of([(0b0000001111, 1)]),
        "mov W:GPR:32, dword ptr R:MEM(32)": uops_of([(0b0000110000, 1)]),
    },
)
"""The documentation says that scalar units, vector units and address generation share no port (Table 6.2)."""

PREFERRED = (
    "add RW:GPR:32, R:GPR:32",
    "vpor W:XMM0..15, R:XMM0..15, R:XMM0..15",
    "vpaddd W:XMM0..15, R:XMM0..15, R:XMM0..15",
    "vminps W:XMM0..15, R:XMM0..15, R:XMM0..15",
    "vbroadcastss W:XMM0..15, R:XMM0..15",
    "vpaddsw W:XMM0..15, R:XMM0..15, R:XMM0..15",
    "vaddps W:XMM0..15, R:XMM0..15, R:XMM0..15",
    "mov W:GPR:32, dword ptr R:MEM(32)",
    "vpslld W:XMM0..15, R:XMM0..15, R:XMM0..15",
    "vroundps W:XMM0..15, R:XMM0..15, IMM(8)",
    "mov dword ptr W:MEM(32), R:GPR:32",
    "vmovapd xmmword ptr W:MEM(128), R:XMM0..15",
)
"""The representatives of Table 6.2, as the data spell them."""


def truth(path: Path) -> PortMapping:
    """The published mapping of Zen+, the characterised schemes alone."""
    rows = json.loads(path.read_text())
    ports = tuple(str(port) for port in rows["ports"])
    usage = {
        scheme: uops_of((sum(1 << port for port in mask), count) for mask, count in row["portusage"])
        for scheme, row in rows["data"].items()
        if row["portusage"]
    }
    return PortMapping(ports, usage, R_MAX)


def judge(result: ExplainResult, processor: SimulatedProcessor, true: PortMapping) -> tuple[int, float, Json]:
    """How many schemes are characterised, and the share of the well-behaved ones that agree with the truth.

    Mappings agree up to a renaming of ports; what differs is listed.
    """
    verdicts = {verdict.scheme: verdict for verdict in result.characterisations}
    kept = [s for s, verdict in verdicts.items() if verdict.outcome is SchemeFate.CHARACTERISED]
    well = [s for s in kept if s not in processor.quirks]
    renaming = best_renaming(result.mapping, PortMapping(true.ports, {s: true.usage[s] for s in well}, R_MAX))
    right = renaming.apply(PortMapping(true.ports, {s: true.usage[s] for s in kept})).usage
    wrong = {s for s in kept if right[s] not in (verdicts[s].usage, *verdicts[s].alternatives)}
    disagreeing = [s for s in well if s in wrong]
    wrongly_kept = [s for s in kept if s in processor.quirks]
    lost = {s: verdict for s, verdict in verdicts.items() if verdict.outcome is not SchemeFate.CHARACTERISED}
    wrong_reason = [
        f"{s} ({quirk}): {lost[s].reason}, {lost[s].text}"
        for s, quirk in processor.quirks.items()
        if s in lost and lost[s].reason not in TRUE_REASONS[quirk]
    ]
    well_lost = [
        f"{s}: {verdict.reason}, {verdict.text}" for s, verdict in lost.items() if s not in processor.quirks
    ]
    more = {
        "misbehaving": len(processor.quirks),
        "wrongly_kept": wrongly_kept[:SHOWN],
        "of_these_with_their_true_uops": sum(s not in wrong for s in wrongly_kept),
        "wrong_reason": wrong_reason[:SHOWN],
        "well_behaved_lost": well_lost[:SHOWN],
        "disagreeing": disagreeing[:SHOWN],
    }
    return len(kept), (len(well) - len(disagreeing)) / max(1, len(well)), more


def run(quick: bool) -> Iterator[Result]:
    """The whole instruction set; with `quick` every tenth scheme.

    With a counter of µops; with counters of the ports, by uops.info's algorithm; and without any counter.
    """
    true = truth(published("zenplus/explainable/results/port_mapping.json"))
    if quick:
        true = PortMapping(true.ports, some(true), R_MAX)
    yield from _case("zen+", true, UOPS)
    yield from _case("zen+-port-counters", true, PORTS, evidence="port-counters")
    yield from _case("zen+-counter-free", true, NOTHING)
    yield from _skylake()


def _skylake() -> Iterator[Result]:
    """A processor whose widest port set is as wide as its bottleneck, and that counts nothing (§6.2.3)."""
    documented = published_mapping("mapping_uops_info.json")
    ports, usage = documented.ports, documented.usage
    true = PortMapping(ports, usage, SKYLAKE_R_MAX)
    processor = SimulatedProcessor(true, noise_cpi=NOISE, seed=SEED)
    problem = ExplainProblem(tuple(usage), ExplainSettings(r_max=SKYLAKE_R_MAX, most_ports=10))
    result = infer(problem, processor, Silent(), SEED, None, solve_by_cegar)
    narrow, wanted = _narrow(result.mapping), _narrow(true)
    wanted = PortMapping(ports, {scheme: wanted.usage[scheme] for scheme in narrow.usage})
    agreement = structural_agreement(narrow, wanted)
    there = agreement.renaming.apply(wanted).usage
    true_uops = sum(
        all(dict(there[scheme]).get(mask, 0) >= count for mask, count in uops)
        for scheme, uops in narrow.usage.items()
    )
    marked = sum(
        bool(verdict.doubts) for verdict in result.characterisations if verdict.scheme in narrow.usage
    )
    more = {
        "schemes": len(usage),
        "outcomes": {outcome.value: count for outcome, count in result.outcomes.items()},
        "with_doubts": marked,
        "reasons": Counter(verdict.reason.value for verdict in result.characterisations if verdict.reason),
        "differing": [f"{s}: {narrow.describe(s)}" for s in agreement.differing[:SHOWN]],
        "warnings": list(result.warnings),
    }
    yield Result("skl-counter-free-true", true_uops / max(1, len(narrow.usage)), "share", SKYLAKE_BAR, more)
    yield Result("skl-counter-free-complete", agreement.share or 0.0, "share", None, {})


def _narrow(mapping: PortMapping) -> PortMapping:
    """Without µops on port sets as wide as the bottleneck, about which nothing is claimed."""
    usage = {
        scheme: tuple((mask, count) for mask, count in uops if mask.bit_count() < SKYLAKE_R_MAX)
        for scheme, uops in mapping.usage.items()
    }
    return PortMapping(mapping.ports, usage)


def _case(name: str, true: PortMapping, counters: str, **options: str) -> Iterator[Result]:
    """Explain a simulated processor with a kind of counters: schemes characterised, agreement and minutes."""
    processor = SimulatedProcessor(true, noise_cpi=NOISE, odd_share=ODD_SHARE, counters=counters, seed=SEED)
    chosen = ExplainSettings.parse({"ports": 10, **options})
    problem = ExplainProblem(tuple(true.usage), chosen, preferred=PREFERRED, hint=HINT)
    cost = cost_of(lambda: infer(problem, processor, Silent(), SEED, None, solve_by_cegar))
    found = cost.value
    characterised, agreement, judged = judge(found, processor, true)
    more = {
        "schemes": len(true.usage),
        "outcomes": {outcome.value: count for outcome, count in found.outcomes.items()},
        **judged,
        "warnings": list(found.warnings),
        "blocking": "" if found.blocking_answer is None else found.blocking_answer.verdict,
        "blocking_instructions": len(found.classes),
        "experiments_per_scheme": found.per_scheme,
        "measurements": found.measurements,
        "cpu_seconds": round(cost.cpu, 1),
    }
    yield Result(f"{name}-characterised", characterised, "schemes", PUBLISHED_SCHEMES, more)
    yield Result(f"{name}-agreement", agreement, "share", 1.0, {})
    yield Result(f"{name}-minutes", round(cost.wall / 60, 2), "minutes", PUBLISHED_MINUTES, {})


def some(true: PortMapping) -> dict[str, Uops]:
    """Every tenth scheme, and those that block."""
    chosen = set(sorted(true.usage)[::10]) | set(PREFERRED)
    return {scheme: uops for scheme, uops in true.usage.items() if scheme in chosen}

"""Truth: how many schemes of an inferred mapping have the µops that are documented.

`skl-…`: PMEvo on the published Skylake measurements, as in `pmevo`, against uops.info's ports. `zenp-…`:
PMEvo on a simulation of the published Zen+ mapping. `zen2-…`: PMEvo on the recorded Zen 2 measurements,
against uops.info's vector ports; a fifth of the experiments is held out. Nothing documented is learnt from.

`exact` is the share of schemes with the same µops after the best renaming of ports, `up_to_hidden` counts
those too that differ in µops which no judged experiment shows, `same_number` those with as many µops.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from benchmarks import MissingDataError, Result
from benchmarks.pmevo import Watch, published, rounded, scores_of
from inference.core.experiment import Experiment
from inference.core.identity import compare
from inference.core.identity.comparison import agreement_up_to_hidden
from inference.core.mapping import PortMapping, uops_of
from inference.core.metrics import Scores
from inference.core.pmevo import PMEvoProblem, PMEvoResult, PMEvoSettings, infer
from inference.core.protocols import Measurer
from inference.core.sampling import held_out_experiments, random_mixes
from inference.formats.parsing import AnyNames, parse
from inference.isa import x86
from inference.isa.domains import forms_among, single_domains
from inference.isa.names import SchemeNames
from inference.measuring.recorded import RecordedMeasurer
from inference.measuring.simulated import SimulatedProcessor

SKYLAKE_EXACT, ZEN2_EXACT = 55.0, 80.0
_ZEN2_PORTS = 10  # that PMEvo is given
_QUICK: dict[str, Any] = {"perturbations": 3, "starts": 1}
_HELD_OUT = 0.2  # share of the experiments that are judged and not learnt from


def run(quick: bool) -> Iterator[Result]:
    """All cases; with `quick` little effort, and of the Zen 2 only the small set."""
    data = settings.SHARED / "data"
    if not data.is_dir():
        raise MissingDataError(f"the published data is not in {data}: set PMWEB_SHARED")
    yield from _skylake(data / "pmevo" / "SKL", quick)
    yield from _zenp(data / "zenplus" / "explainable", quick)
    yield from _zen2(data, quick)


def _skylake(folder: Path, quick: bool) -> Iterator[Result]:
    """PMEvo's mapping of the published Skylake measurements against uops.info's ports."""
    case = published(folder)
    found, cpu = _inferred(case.schemes, case.measurer(), case.ports, quick)
    documented = json.loads((folder / "mapping_uops_info.json").read_text())
    reference = _mapping(
        {name: [(ports, 1) for ports in uops] for name, uops in documented["assignment"].items()}
    )
    judged = [mix.experiment for mix in case.mixes]
    yield _result(
        "skl-exact", found, reference, judged, scores_of(found.mapping, case.mixes), cpu, SKYLAKE_EXACT
    )


def _zenp(folder: Path, quick: bool) -> Iterator[Result]:
    """Every n-th scheme of the published mapping, measured by a simulation with 1 % noise."""
    file = folder / "results" / "port_mapping.json"
    true = parse(file.read_bytes(), file.name, AnyNames()).mapping
    assert true is not None
    used = [scheme for scheme, uops in true.usage.items() if uops]
    true = true.restricted(used[:: len(used) // (40 if quick else 300)])
    names = tuple(true.usage)
    found, cpu = _inferred(names, SimulatedProcessor(true, noise=0.01, seed=7), len(true.ports), quick)
    mixes = list(SimulatedProcessor(true).measure(random_mixes(names, 1000, seed=3)))
    judged = [mix.experiment for mix in mixes]
    yield _result("zenp-exact", found, true, judged, scores_of(found.mapping, mixes), cpu, None)


def _zen2(data: Path, quick: bool) -> Iterator[Result]:
    """PMEvo's mapping of the recorded Zen 2 measurements against uops.info's vector ports."""
    file = data / "zen2" / ("starter.csv" if quick else "alone_pairs_floods.csv")
    measured = [
        result for result in parse(file.read_bytes(), file.name, AnyNames()).measured if result.usable
    ]
    held = held_out_experiments((result.experiment for result in measured), _HELD_OUT, seed=0)
    train = [result for result in measured if result.experiment not in held]
    judging = [result for result in measured if result.experiment in held]
    schemes = tuple(sorted({scheme for result in measured for scheme in result.experiment.schemes}))
    found, cpu = _inferred(schemes, RecordedMeasurer(train), _ZEN2_PORTS, quick)
    known = [result for result in judging if all(s in found.mapping.usage for s in result.experiment.schemes)]
    documented = _documented_zen2(data / "iwho" / "x86_uops_info_features.json")
    reference = _mapping({name: documented[name] for name in schemes if name in documented})
    judged = [result.experiment for result in measured]
    scores = scores_of(found.mapping, known)
    yield _result("zen2-vector-exact", found, reference, judged, scores, cpu, ZEN2_EXACT)


def _documented_zen2(file: Path) -> dict[str, list[tuple[str, int]]]:
    """The vector ports of the register forms, by our names: [(ports of a µop, count), …]."""
    names = SchemeNames(scheme.text for scheme in x86.schemes())
    found: dict[str, list[tuple[str, int]]] = {}
    for name, entries in json.loads(file.read_text()).items():
        said = entries[0].get("measurements", {}).get("ZEN2", "") if entries else ""
        text = names.resolve(name)
        uops = re.findall(r"(\d+)\*FP([0-3]+)", said)
        if text is not None and uops and "MEM" not in text and "GPR" not in text:
            found[text] = [(ports, int(count)) for count, ports in uops]
    return found


def _mapping(usage: Mapping[str, Sequence[tuple[Sequence[str], int]]]) -> PortMapping:
    """A documented mapping of ports that are called by a digit each."""
    ports = sorted({port for uops in usage.values() for names, _ in uops for port in names})
    bit = {port: 1 << k for k, port in enumerate(ports)}
    return PortMapping(
        tuple(ports),
        {
            name: uops_of((sum(bit[port] for port in names), count) for names, count in uops)
            for name, uops in usage.items()
        },
    )


def _inferred(
    schemes: tuple[str, ...], measurer: Measurer, ports: int, quick: bool
) -> tuple[PMEvoResult, float]:
    began = time.process_time()
    chosen = PMEvoSettings(ports=ports, **(_QUICK if quick else {}))
    problem = PMEvoProblem(schemes, chosen, forms=forms_among(schemes), domains=single_domains(schemes))
    found = infer(problem, measurer, Watch(), 0)
    return found, time.process_time() - began


def _result(
    case: str,
    found: PMEvoResult,
    documented: PortMapping,
    judged: Sequence[Experiment],
    scores: Scores,
    cpu: float,
    reference: float | None,
) -> Result:
    """The share of schemes with exactly the documented µops, up to a renaming of ports."""
    compared = compare(found.mapping, documented)
    agreement = compared.agreement
    more = {
        "schemes": len(agreement.agreeing) + len(agreement.differing),
        "up_to_hidden": _percent(agreement_up_to_hidden(found.mapping, documented, judged)),
        "same_number": _percent(compared.same_number),
        "mape": rounded(scores.mape),
        "kendall": None if scores.kendall is None else round(scores.kendall, 4),
        "kinds": found.mapping.uop_kinds,
        "limits": {unit: round(rate, 3) for unit, rate in found.mapping.limits.items()},
        "classes": len(found.congruence_classes),
        "cpu_seconds": round(cpu, 1),
    }
    return Result(case, _percent(agreement.share) or 0.0, "%", reference, more)


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)

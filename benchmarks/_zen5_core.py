"""A simulated core that behaves as a recorded Zen 5, on which the default set is measured.

Its schemes, latencies and rates are recorded; its units are those that are documented or that an independent
harness showed. µops of a mnemonic are as many as its rate on its unit leaves room for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from benchmarks import MissingDataError
from benchmarks._drawn_cores import DrawnCore, body_of, mask_of
from inference.core.core_model.model import CoreModel
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.simulation.policy import SchedulerPolicy, SharedResultBus
from inference.formats.core_model_json import read_core_model
from inference.formats.parsing import AnyNames, parse
from inference.measuring.scheduled_core import ScheduledCore

WIDTH = 8
_RECORDED = "alone_pairs_floods.csv", "core_model.json"
_MOST_UOPS = 8
"""Of an instruction: what is slower, such as divisions, occupies its unit for as long."""

_UNITS: Mapping[str, int] = {
    unit: mask_of(ports)
    for unit, ports in {
        "alu": range(6),
        "multiply": range(3),
        "shift": range(3, 6),
        "load": range(6, 10),
        "vector load": range(6, 8),
        "store": (10,),  # experiments write to 20 lines, each of which takes a cycle
        "vector": range(11, 15),
        "float multiply": (11, 12),
        "vector multiply": (11, 14),
        "shuffle": (12, 13),
        "float add": (13, 14),
        "divide": (12,),
        "vector to integer": (15, 16),
        "integer to vector": (15,),
    }.items()
}
_PORTS = 17
_PATTERNS: Sequence[tuple[str, str]] = (
    # (pattern of mnemonics, unit); the first one counts
    (r"imul|mulx", "multiply"),
    (r"s[ah][lr]x?|shld|shrd|ro[lr]x?|bt[crs]?|bextr|bzhi|pdep|pext|bs[fr]|crc32", "shift"),
    (r"vdiv|vsqrt|vrcp|vrsqrt", "divide"),
    (r"vfn?m|vmul|vaes|vgf2|vpclmul|vdpp", "float multiply"),
    (r"v(add|sub|max|min|cmp|u?comi|cvt|round|hadd|hsub)", "float add"),
    (r"vpmul|vpmadd|vpdp|vpsadbw|vmpsadbw|vphmin|vpcmpgtq|vpcmp[ei]str", "vector multiply"),
    (r"v", "shuffle"),
)
_ANY_VECTOR_RATE = 0.3
"""Cycles alone below which a vector operation runs on any vector port."""
_MOVES = re.compile(r"mov(?!msk)|movzx|movsxd?|movbe|vmov(?!msk)|vbroadcast|vlddqu|prefetch")
_NO_PORT = re.compile(r"nop|endbr|clc|stc")


def zen5_core(directory: Path, seed: int, schemes: Collection[str] | None = None) -> DrawnCore:
    """The core on some schemes; all of the default set without. Raises `MissingDataError`."""
    rates, recorded = _recorded(directory)
    usage = {scheme: _uops(scheme, rates, recorded) for scheme in schemes or rates}
    slots = {
        scheme: max(1, sum(n for mask, n in uops if not mask & _MEMORY)) for scheme, uops in usage.items()
    }
    truth = PortMapping(
        tuple(map(str, range(_PORTS))),
        usage,
        issue_width=WIDTH,
        slots={scheme: count for scheme, count in slots.items() if count > 1},
    )
    policy = SchedulerPolicy(
        load_age=1,
        load_step=2,
        queue=8,
        queued=88,
        writeback_conflicts=True,
        speculative_select=True,
        shared_buses=(SharedResultBus(_UNITS["multiply"], _UNITS["shift"]),),
    )
    model = replace(recorded, mapping=truth, alone={})
    optimal = (1 << _PORTS) - 1 & ~_UNITS["alu"]  # recorded mixes of vector operations waste nothing
    return DrawnCore(seed, truth, ScheduledCore(model, policy, WIDTH, body_of, _MEMORY, optimal))


_MEMORY = _UNITS["load"] | _UNITS["store"]


@lru_cache(maxsize=1)
def _recorded(directory: Path) -> tuple[dict[str, float], CoreModel]:
    """{scheme: cycles alone} of the default set, and the recorded core."""
    measurements, core = (directory / name for name in _RECORDED)
    if not measurements.exists():
        raise MissingDataError(f"no recorded Zen 5 in {directory}: set PMWEB_SHARED")
    results = parse(measurements.read_bytes(), measurements.name, AnyNames()).measured
    rates = {
        result.experiment.schemes[0]: result.cycles
        for result in results
        if result.usable and result.cycles and result.experiment.is_singleton
    }
    return dict(sorted(rates.items())), read_core_model(core.read_bytes()).model()


def _uops(scheme: str, rates: Mapping[str, float], recorded: CoreModel) -> Uops:
    mnemonic, _, operands = scheme.partition(" ")
    if scheme in recorded.moves or _NO_PORT.match(mnemonic):
        return ()
    is_vector = mnemonic.startswith("v")
    uops: list[tuple[int, int]] = []
    if "MEM" not in operands or not _MOVES.match(mnemonic):
        uops.append(_computing(mnemonic, operands, rates))
    if is_vector and operands.startswith("GPR"):
        uops.append((_UNITS["alu"], 1))
    if re.search(r"MEM\[[0-9]+\](:R|$)", operands):
        uops.append((_UNITS["vector load" if is_vector else "load"], 1))
    if re.search(r"MEM\[[0-9]+\]:R?W", operands):
        uops.append((_UNITS["store"], 1))
    return uops_of(uops)


def _computing(mnemonic: str, operands: str, rates: Mapping[str, float]) -> tuple[int, int]:
    """The ports and the number of the µops that compute."""
    own = re.compile(rf"{mnemonic}(?= |$)(?!.*MEM)")
    rate = min((cycles for text, cycles in rates.items() if own.match(text)), default=0.0)
    if mnemonic.startswith("v") and "GPR" in operands:
        unit = "vector to integer" if operands.startswith("GPR") else "integer to vector"
    elif mnemonic.startswith("v") and rate < _ANY_VECTOR_RATE:
        unit = "vector"
    else:
        matches = (unit for pattern, unit in _PATTERNS if re.match(pattern, mnemonic))
        unit = next(matches, "alu")
    ports = _UNITS[unit]
    count = math.floor(rate * ports.bit_count() + 0.25)
    return ports, min(max(1, count), _MOST_UOPS)

"""A processor that these tests make up, and its measurements as an experiment CSV."""

from __future__ import annotations

import csv
import io
from itertools import combinations

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.throughput import inverse_throughput

PORTS = ("0", "1", "2")
USAGE = {
    "add GPR[64]:RW, GPR[64]:R": ((0b111, 1),),
    "imul GPR[64]:RW, GPR[64]:R": ((0b010, 1),),
    "popcnt GPR[64]:W, GPR[64]:R": ((0b010, 1),),
    "shl GPR[64]:RW, IMM[8]:R": ((0b101, 1),),
    "bswap GPR[64]:RW": ((0b011, 2),),
    "andn GPR[64]:W, GPR[64]:R, GPR[64]:R": ((0b110, 1),),
    "vpaddd YMM:W, YMM:R, YMM:R": ((0b011, 1),),
    "vpermd YMM:W, YMM:R, YMM:R": ((0b100, 1),),
    "vpmulld YMM:W, YMM:R, YMM:R": ((0b001, 2),),
    "vshufps YMM:W, YMM:R, YMM:R, IMM[8]:R": ((0b100, 1),),
}
TRUTH = PortMapping(PORTS, USAGE)


def experiments() -> list[Experiment]:
    """Every scheme alone, every pair in several proportions, and every triple."""
    found = [Experiment.of([scheme]) for scheme in USAGE]
    found += [
        Experiment.of(dict(zip(pair, counts, strict=True)))
        for pair in combinations(USAGE, 2)
        for counts in ((1, 1), (2, 1), (1, 2))
    ]
    found += [Experiment.of(triple) for triple in combinations(USAGE, 3)]
    return found


def as_csv() -> bytes:
    """The exact cycles of all experiments, in the upload format."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["experiment", "cycles"])
    for experiment in experiments():
        writer.writerow([str(experiment), repr(inverse_throughput(TRUTH, experiment))])
    return text.getvalue().encode()

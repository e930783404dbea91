"""How the recorded example was made: `python -m inference.exchange.example.recipe` writes its files again.

The processor exists only here. It is not modelled on a product, but has what real ones have: four integer
ALUs of which only some multiply, shift or count bits; three vector pipelines that differ in what they can do;
two load ports, one of which stores share for their addresses; a divider that keeps one pipeline busy; and a
front end that lets six instructions through per cycle. The measurements are those that PMEvo asks for, each
scheme alone and every pair, and random five-scheme mixes to judge a mapping by; each with 1 % Gaussian noise.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.pmevo.plan import pairs, singletons
from inference.exchange.experiment_csv import write_experiment_csv
from inference.exchange.mapping_json import write_mapping_json
from inference.measuring.simulated import SimulatedProcessor

DATA = Path(__file__).parent / "data"
SINGLETONS_AND_PAIRS = DATA / "singletons_and_pairs.csv"
MIXES = DATA / "five_scheme_mixes.csv"
MAPPING = DATA / "true_mapping.json"

PORTS = tuple(str(port) for port in range(10))
R_MAX = 6.0  # instructions per cycle
NOISE = 0.01  # standard deviation, relative
SEED = 20
EPSILON = 0.05  # as in PMEvo's plan: differences below are noise
MIX_COUNT = 600
MIX_LENGTH = 5

ALU = "0123"
SHIFT = "03"
MULTIPLY = "1"
BITS = "1"
ADDRESS = "12"
VECTOR = "456"
VECTOR_FLOAT = "45"
VECTOR_SHUFFLE = "6"
VECTOR_SHIFT = "56"
LOAD = "78"
STORE_ADDRESS = "8"
STORE_DATA = "9"
DIVIDE = "4"

USAGE: dict[str, tuple[str, ...]] = {
    "add GPR[64]:RW, GPR[64]:R": (ALU,),
    "add GPR[64]:RW, IMM[8]:R": (ALU,),
    "add GPR[64]:RW, MEM[64]:R": (LOAD, ALU),
    "add MEM[64]:RW, GPR[64]:R": (LOAD, ALU, STORE_ADDRESS, STORE_DATA),
    "sub GPR[64]:RW, GPR[64]:R": (ALU,),
    "neg GPR[64]:RW": (ALU,),
    "cmp GPR[64]:R, GPR[64]:R": (ALU,),
    "test GPR[64]:R, GPR[64]:R": (ALU,),
    "and GPR[64]:RW, GPR[64]:R": (ALU,),
    "andn GPR[64]:W, GPR[64]:R, GPR[64]:R": (ADDRESS,),
    "xor GPR[64]:RW, GPR[64]:R": (ALU,),
    "lea GPR[64]:W, ADDR[B+D8]": (ALU,),
    "lea GPR[64]:W, ADDR[B+S*I+D8]": (ADDRESS,),
    "shl GPR[64]:RW, IMM[8]:R": (SHIFT,),
    "sar GPR[64]:RW, 0x1": (SHIFT,),
    "ror GPR[64]:RW, IMM[8]:R": (SHIFT,),
    "shlx GPR[64]:W, GPR[64]:R, GPR[64]:R": (SHIFT,),
    "bt GPR[64]:R, GPR[64]:R": (SHIFT,),
    "bextr GPR[64]:W, GPR[64]:R, GPR[64]:R": (SHIFT, BITS),
    "bswap GPR[64]:RW": (ADDRESS, SHIFT),
    "imul GPR[32]:W, GPR[32]:R, IMM[32]:R": (MULTIPLY,),
    "imul GPR[64]:RW, GPR[64]:R": (MULTIPLY,),
    "imul GPR[64]:RW, MEM[64]:R": (LOAD, MULTIPLY),
    "popcnt GPR[64]:W, GPR[64]:R": (BITS,),
    "lzcnt GPR[64]:W, GPR[64]:R": (BITS,),
    "pdep GPR[64]:W, GPR[64]:R, GPR[64]:R": (BITS,),
    "mov GPR[64]:W, IMM[32]:R": (ALU,),
    "mov GPR[64]:W, MEM[64]:R": (LOAD,),
    "mov MEM[64]:W, GPR[64]:R": (STORE_ADDRESS, STORE_DATA),
    "movzx GPR[32]:W, GPR[8]:R": (ALU,),
    "movzx GPR[32]:W, MEM[8]:R": (LOAD,),
    "vmovaps YMM:W, MEM[256]:R": (LOAD,),
    "vmovaps MEM[256]:W, YMM:R": (STORE_ADDRESS, STORE_DATA),
    "vmovd GPR[32]:W, XMM:R": (DIVIDE,),
    "vaddpd YMM:W, YMM:R, YMM:R": (VECTOR_FLOAT,),
    "vaddpd YMM:W, YMM:R, MEM[256]:R": (LOAD, VECTOR_FLOAT),
    "vmulps YMM:W, YMM:R, YMM:R": (VECTOR_FLOAT,),
    "vfmadd231pd YMM:RW, YMM:R, YMM:R": (VECTOR_FLOAT,),
    "vmaxpd YMM:W, YMM:R, YMM:R": (VECTOR_FLOAT,),
    "vcvtdq2ps YMM:W, YMM:R": (VECTOR_SHIFT,),
    "vdivps XMM:W, XMM:R, XMM:R": (DIVIDE,) * 4,
    "vshufps YMM:W, YMM:R, YMM:R, IMM[8]:R": (VECTOR_SHUFFLE,),
    "vpunpcklwd YMM:W, YMM:R, YMM:R": (VECTOR_SHUFFLE,),
    "vpshufb YMM:W, YMM:R, YMM:R": (VECTOR_SHUFFLE,),
    "vpshufb YMM:W, YMM:R, MEM[256]:R": (LOAD, VECTOR_SHUFFLE),
    "vpermd YMM:W, YMM:R, YMM:R": (VECTOR_SHUFFLE, VECTOR_SHUFFLE),
    "vblendps YMM:W, YMM:R, YMM:R, IMM[8]:R": (VECTOR,),
    "vpand YMM:W, YMM:R, YMM:R": (VECTOR,),
    "vpaddd YMM:W, YMM:R, YMM:R": (VECTOR,),
    "vpcmpeqd YMM:W, YMM:R, YMM:R": (VECTOR_FLOAT,),
    "vpminsd YMM:W, YMM:R, YMM:R": (VECTOR_SHIFT,),
    "vpslld YMM:W, YMM:R, IMM[8]:R": (VECTOR_SHIFT,),
    "vpmulld YMM:W, YMM:R, YMM:R": (VECTOR_FLOAT, VECTOR_FLOAT),
}
"""The ports of every µop of a scheme, one text of port digits per µop."""


def true_mapping() -> PortMapping:
    """The port mapping of the simulated processor."""
    return PortMapping(PORTS, {scheme: _uops(ports) for scheme, ports in USAGE.items()}, R_MAX)


def _uops(ports: tuple[str, ...]) -> Uops:
    return uops_of((sum(1 << int(port) for port in one), 1) for one in ports)


def processor() -> SimulatedProcessor:
    """The simulated processor: the same experiment always takes the same, slightly wrong time."""
    return SimulatedProcessor(true_mapping(), noise=NOISE, seed=SEED)


def training() -> list[Measured]:
    """Every scheme alone, every pair 1:1, and 1:n where one is n times as fast."""
    machine = processor()
    alone = list(machine.measure(singletons(list(USAGE))))
    times = {result.experiment.schemes[0]: result.cycles for result in alone if result.cycles is not None}
    return [*alone, *machine.measure(pairs(times, EPSILON))]


def mixes() -> list[Measured]:
    """Distinct random mixes of five schemes."""
    random = np.random.default_rng(SEED)
    schemes = list(USAGE)

    def draw() -> Experiment:
        return Experiment.of([schemes[k] for k in random.integers(len(schemes), size=MIX_LENGTH)])

    drawn = dict.fromkeys(draw() for _ in range(2 * MIX_COUNT))
    return list(processor().measure(itertools.islice(drawn, MIX_COUNT)))


def files() -> dict[Path, str]:
    """The example's files and what is in them; cycles have six decimals, far below the noise."""
    document = write_mapping_json(
        true_mapping(),
        name="Simulated example processor",
        isa="x86-64",
        note="The true mapping of a processor that exists only in simulation.",
        source="inference.exchange.example.recipe",
    )
    return {
        SINGLETONS_AND_PAIRS: write_experiment_csv(_rounded(result) for result in training()),
        MIXES: write_experiment_csv(_rounded(result) for result in mixes()),
        MAPPING: json.dumps(document, indent=1) + "\n",
    }


def _rounded(result: Measured) -> Measured:
    assert result.cycles is not None, "the simulated processor knows all schemes of the example"
    return Measured(result.experiment, round(result.cycles, 6))


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

"""Modules of the shape of uiCA's that our worker uses; their numbers are recorded (golden_uica.json)."""

from __future__ import annotations

import json
from pathlib import Path

GOLDEN: dict[str, dict[str, dict[str, float | str]]] = json.loads(
    Path(__file__).with_name("golden_uica.json").read_text()
)
"""{architecture: {digits: {tool: cycles, or why there are none}}}, as uiCA and Facile have answered."""

_CONFIGS = """
class Config:
    def __init__(self, name):
        self.name, self.XEDName = name, name
MicroArchConfigs = {name: Config(name) for name in NAMES}
"""
_INSTRUCTIONS = """
class Instr:
    def __init__(self, asm, isBranchInstr):
        self.asm, self.isBranchInstr = asm, isBranchInstr
class UnknownInstr(Instr):
    pass
def getInstructions(disas, config, data, offset):
    def kind(digits):
        return UnknownInstr if GOLDEN[config.name][digits.lower()]["uica"] == "unknown" else Instr
    return [kind(one["opcode"])(one["opcode"], one["opcode"].endswith("75FB")) for one in disas]
"""
_XED = """
import os
def disasHex(digits, chip):
    if GOLDEN["ICL"].get(digits, {}).get("uica") == "undecoded":
        os.write(1, b"ERROR: GENERAL_ERROR Could not decode\\n")
        return []
    return [{"opcode": digits.upper()}]
"""
_UICA = """
import random
def runSimulation(disas, config, offset, init, no_micro, no_macro, simple, rounds, cycles):
    assert (init, rounds, cycles, random.randrange(1000)) == ("diff", 10, 500, 864), "asked in another way"
    said = GOLDEN[config.name][disas[0]["opcode"].lower()]["uica"]
    return said if isinstance(said, float) else 0.0
"""
_FACILE = """
def _bounds(hex, config, components):
    assert "lat" in components
    said = GOLDEN[config.name][hex]["facile"]
    return [("dec", 0.0), ("lat", said if isinstance(said, float) else 0.0)]
def getAnalyticalPredictionForUnrolling(instructions, hex, disas, config, components):
    assert not instructions[-1].isBranchInstr
    return _bounds(hex, config, components)
def getAnalyticalPredictionForLoop(instructions, hex, disas, config, components):
    assert instructions[-1].isBranchInstr
    return _bounds(hex, config, components)
"""


def files(home: Path) -> Path:
    """A directory with these modules."""
    known = f"GOLDEN = {GOLDEN!r}\nNAMES = {list(GOLDEN)!r}\n"
    modules = {
        "microArchConfigs": _CONFIGS,
        "instructions": _INSTRUCTIONS,
        "xed": _XED,
        "uiCA": _UICA,
        "facile": _FACILE,
        **{f"instrData/{arch}_data": "" for arch in GOLDEN},
    }
    for name, text in modules.items():
        path = home / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(known + text)
    (home / "xed-here.so").touch()
    return home

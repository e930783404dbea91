"""Run by uiCA's own Python, not by ours: answers a line of JSON for each line with a block in digits.

Arguments: the directory of uiCA, `uica` or `facile`, the architecture, the values that registers start with.
A block's answer has `cycles` and `unknown`, the instructions that uiCA's data lacks and that cost nothing in
it; or `undecoded`, the digits that its decoder does not know; or `error`. An empty line is answered with the
architectures. A block that ends in a jump is a loop, any other one is repeated in a row.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
from collections.abc import Callable
from typing import Any

_ROUNDS, _CYCLES = 10, 500
"""-minIterations and -minCycles of uiCA.py, as usual."""

_FACILES_CHIP = "TIGER_LAKE"
"""The chip for which Facile decodes, for every architecture."""

_BOUNDS = ("predec", "dec", "dsb", "lsd", "issue", "portUsage", "lat")
"""-analyticalComponents of facile.py, as usual."""


def main(directory: str, tool: str, arch: str, init: str) -> None:
    """Answer until the input ends."""
    sys.path.insert(0, directory)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # its decoder, in C, complains there
    configs = importlib.import_module("microArchConfigs").MicroArchConfigs
    if arch in configs:
        analysed = _analysis(tool, configs[arch], init)
    for line in sys.stdin:
        try:
            answer = analysed(line.strip()) if line.strip() else {"architectures": sorted(configs)}
        except (Exception, SystemExit) as error:  # noqa: BLE001  one block must not end the worker
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


def _analysis(tool: str, config: Any, init: str) -> Callable[[str], dict[str, Any]]:
    """The work of the tool's command line on a block, as a function of its digits."""
    xed = importlib.import_module("xed")
    instructions = importlib.import_module("instructions")
    data = importlib.import_module(f"instrData.{config.name}_data")
    cycles = _simulation_of(config, init) if tool == "uica" else _bounds_of(config)
    chip = config.XEDName if tool == "uica" else _FACILES_CHIP

    def analysed(digits: str) -> dict[str, Any]:
        decoded = xed.disasHex(digits, chip=chip)
        decoded_digits = sum(len(instruction["opcode"]) for instruction in decoded)
        if decoded_digits != len(digits):
            return {"undecoded": digits[decoded_digits:]}
        forms = instructions.getInstructions(decoded, config, data, 0)
        unknown = [form.asm for form in forms if isinstance(form, instructions.UnknownInstr)]
        return {"cycles": cycles(digits, decoded, forms), "unknown": unknown}

    return analysed


def _simulation_of(config: Any, init: str) -> Callable[[str, Any, Any], float]:
    uica = importlib.import_module("uiCA")

    def cycles(_digits: str, decoded: Any, _listed: Any) -> float:
        random.seed(0)  # as when it starts: what came before does not count
        result: float = uica.runSimulation(decoded, config, 0, init, False, False, False, _ROUNDS, _CYCLES)
        return result

    return cycles


def _bounds_of(config: Any) -> Callable[[str, Any, Any], float]:
    facile = importlib.import_module("facile")

    def cycles(digits: str, decoded: Any, listed: Any) -> float:
        looped = listed[-1].isBranchInstr
        name = "getAnalyticalPredictionForLoop" if looped else "getAnalyticalPredictionForUnrolling"
        bounds = getattr(facile, name)(listed, digits, decoded, config, list(_BOUNDS))
        return max(float(bound) for _, bound in bounds)

    return cycles


if __name__ == "__main__":
    main(*sys.argv[1:5])

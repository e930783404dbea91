"""Run by OSACA's own Python, not by ours: answers a line of JSON for each line with a block.

A block is assembly, for x86-64 in AT&T syntax. Arguments: the architecture, seconds for the loop-carried
dependencies, `1` to consider flags as well. A block's answer has `pressure`, the busiest port's cycles,
`carried`, the latency of the longest loop-carried dependency, `late` where the search for it was broken off,
and `unknown`, the instructions that OSACA's data lacks and that count nothing; or it has `error`. An empty
line is answered with OSACA's version.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any

_MAX_LINES = 20_000
"""Parsed lines that are kept: parsing is more than half of the work, and instructions come back often."""


def main(arch: str, seconds: str, flags: str) -> None:
    """Answer until the input ends."""
    import osaca  # noqa: PLC0415  only there where this script is run

    answers, sys.stdout = sys.stdout, sys.stderr  # OSACA's own output must not mix with the answers
    os.access = may_access  # type: ignore[assignment]  # OSACA asks it where to keep models
    analysed = _analysis(arch, int(seconds), consider_flags=flags == "1")
    for line in sys.stdin:
        try:
            answer = analysed(json.loads(line)) if line.strip() else {"version": osaca.__version__}
        except Exception as error:  # noqa: BLE001  one block must not end the worker
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)


def may_access(path: str, mode: int, _access: Callable[[str, int], bool] = os.access) -> bool:
    """Replaces `os.access`, which ignores the rules of a sandbox: directories are tested by writing."""
    if not mode & os.W_OK:
        return _access(path, mode)
    try:
        with tempfile.TemporaryFile(dir=path):
            return True
    except OSError:
        return False


def _analysis(arch: str, seconds: int, *, consider_flags: bool) -> Callable[[str], dict[str, Any]]:
    """The work of OSACA's command line on a file, as a function of its text."""
    from osaca.osaca import get_asm_parser  # noqa: PLC0415
    from osaca.semantics import INSTR_FLAGS, ArchSemantics, KernelDG, MachineModel  # noqa: PLC0415

    parser = get_asm_parser(arch, "ATT")
    model = MachineModel(arch=arch)
    semantics = ArchSemantics(parser, model)
    parsed: dict[str, Any] = {}

    def form_of(number: int, line: str) -> Any:
        if line not in parsed:
            if len(parsed) >= _MAX_LINES:
                parsed.clear()
            (parsed[line],) = parser.parse_file(line + "\n")
        form = copy.deepcopy(parsed[line])  # analysing writes into it
        form.line_number = number
        return form

    def analysed(text: str) -> dict[str, Any]:
        kernel = [form_of(number, line) for number, line in enumerate(text.splitlines(), start=1)]
        semantics.normalize_instruction_forms(kernel)
        semantics.add_semantics(kernel)
        unknown = [form.line.strip() for form in kernel if INSTR_FLAGS.TP_UNKWN in form.flags]
        semantics.assign_optimal_throughput(kernel)
        semantics.assign_optimal_throughput(kernel)  # twice, as its command line does
        graph = KernelDG(kernel, parser, model, semantics, seconds, consider_flags)
        chains = graph.get_loopcarried_dependencies()
        return {
            "pressure": max(semantics.get_throughput_sum(kernel), default=0.0),
            "carried": max((chain["latency"] for chain in chains.values()), default=0.0),
            "late": graph.timed_out,
            "unknown": unknown,
        }

    return analysed


if __name__ == "__main__":
    main(*sys.argv[1:4])

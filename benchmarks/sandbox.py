"""How many of the tries to change a file from within the sandbox of foreign programs are without effect."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks import Result
from inference.sandbox import confinement
from tests.containment.probes import failures, probed_files, sandboxes

_PER_PROGRAM, _PER_PROGRAM_QUICK = 1, 75


def run(quick: bool) -> Iterator[Result]:
    """A case for the sandbox of this host, and one for each that is weaker."""
    per_program = _PER_PROGRAM_QUICK if quick else _PER_PROGRAM
    for name, sandbox in sandboxes(confinement.abilities()).items():
        with probed_files() as files:
            probes = files.probes(sandbox)
            flaws = failures(files, probes, sandbox, per_program)
        for flaw in flaws:
            print(f"{name}: {flaw}", file=sys.stderr)
        more = {"tries": len(probes), "programs": -(-len(probes) // per_program)}
        yield Result(name, len(flaws), "changes", more=more)

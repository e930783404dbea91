"""Runs of every kind while web process, workers, runs, agents, Redis and connections are killed.

Of each kind so many kills as `KILLS` says, on SQLite and on PostgreSQL with Redis: how many of the runs came
through with all invariants. And with a clock that is set now and then, which makes everything slower: so
fewer kills.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from django.conf import settings

from benchmarks import MissingDataError, Result
from benchmarks._chaos.__main__ import EXIT_MISSING, EXIT_VIOLATED
from benchmarks._chaos.world import POSTGRESQL, SQLITE

SEED = 1
KILLS = {SQLITE: 200, POSTGRESQL: 100}
CLOCK_KILLS = 10  # per kind of run, while the clock is set now and then
QUICK_KILLS = 4  # per kind of run


def run(quick: bool) -> Iterator[Result]:
    """Each database, then the clock; with `quick` SQLite alone, and few kills of few kinds."""
    for database in [SQLITE] if quick else [SQLITE, POSTGRESQL]:
        kinds = ["--kinds", "measure", "pmevo", "import"] if quick else []
        kills = QUICK_KILLS if quick else KILLS[database]
        case = "kills" if database == SQLITE else f"kills-{database}"
        yield _came_through(case, _told("--database", database, "--kills", str(kills), *kinds))
    if not quick:
        yield _came_through("kills-clock", _told("--clock", "--kills", str(CLOCK_KILLS)))


def _told(*options: str) -> list[dict[str, Any]]:
    """What `python -m benchmarks._chaos` prints: the kinds, and the whole last."""
    command = [sys.executable, "-m", "benchmarks._chaos", "--seed", str(SEED), *options]
    done = subprocess.run(command, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode == EXIT_MISSING:
        raise MissingDataError("PostgreSQL, Redis or libfaketime is not installed")
    if done.returncode not in {0, EXIT_VIOLATED}:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _came_through(case: str, lines: Sequence[dict[str, Any]]) -> Result:
    """Runs without a violation, of all runs; `told` is what `benchmarks._chaos` prints."""
    *kinds, summary = lines
    violated = {pk for pk, _, _ in summary["broken"]}
    more = {
        "seed": summary["seed"],
        "seconds": summary["seconds"],
        "kills": {kind["kind"]: kind["kills"] for kind in kinds},
        **{name: summary[name] for name in ("disturbances", "violations", "lacks", "tracebacks")},
    }
    return Result(case, summary["runs"] - len(violated), "runs", summary["runs"], more)

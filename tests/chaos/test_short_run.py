"""Runs of every kind are killed on a real site."""

from __future__ import annotations

import json
import subprocess
import sys

from django.conf import settings

from benchmarks._chaos.__main__ import EXIT_MISSING, EXIT_VIOLATED
from benchmarks._chaos.kinds import KINDS
from benchmarks._chaos.world import POSTGRESQL, SQLITE

SECONDS = 500


def chaos_run(*options: str) -> tuple[int, list[dict]]:
    """Exit status, and what it says: the kinds, and the whole last; nothing where the database is missing."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._chaos", "--only-kills", *options],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode in {0, EXIT_VIOLATED, EXIT_MISSING}, done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_runs_of_every_kind_survive_a_kill():
    """Of every other registered kind, `benchmarks/_chaos/kinds.toml` says why it is left out."""
    for database in (POSTGRESQL, SQLITE):
        status, told = chaos_run("--seed", "5", "--kills", "1", "--database", database)
        if status != EXIT_MISSING:
            break
    assert status == 0, told[-1]["violations"]
    kills = {line["kind"]: line["kills"] for line in told[:-1]}
    assert kills.keys() == KINDS.keys()
    assert min(kills.values()) >= 1

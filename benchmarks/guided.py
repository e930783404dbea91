"""Files and messages that nobody should send, found by following what the readers do with them.

Where `hostile` draws its inputs blindly, atheris (libFuzzer) keeps those that reach code that none has
reached before, and goes on from there. It starts from the same sound files, one process per reader, each for
a minute. A failure is what it is in `hostile`. Needs atheris, which is to be installed by hand: it is large,
and few have use for it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings

from benchmarks import MissingDataError, Result
from benchmarks._input_importers import IMPORTERS

SECONDS, QUICK_SECONDS = 60, 5
SEED = 12
_LONGEST = 1 << 16  # bytes of an input
_START_SECONDS = 300
_COVERED = re.compile(r"\bcov: (\d+)")


def run(quick: bool) -> Iterator[Result]:
    """Each reader; `PMWEB_HOSTILE` names a few of them, `PMWEB_GUIDED_SECONDS` is another time for each."""
    if find_spec("atheris") is None:
        raise MissingDataError("atheris is not installed: .venv/bin/pip install atheris")
    chosen = os.environ.get("PMWEB_HOSTILE", "").split()
    seconds = int(os.environ.get("PMWEB_GUIDED_SECONDS", QUICK_SECONDS if quick else SECONDS))
    for importer in IMPORTERS:
        if not chosen or importer.name in chosen:
            yield _guided(importer.name, seconds)


def _guided(name: str, seconds: int) -> Result:
    with tempfile.TemporaryDirectory(prefix="pmweb-guided-") as directory:
        folder = Path(directory)
        told = folder / "told.json"
        (folder / "corpus").mkdir()
        options = [
            *(f"-max_total_time={seconds}", f"-seed={SEED}", f"-max_len={_LONGEST}"),
            *("-timeout=60", "-rss_limit_mb=4096", f"-artifact_prefix={folder}/"),
        ]
        reader = [sys.executable, "-m", "benchmarks._guided_reader", name, str(told), f"{folder}/corpus"]
        done = subprocess.run(
            [*reader, *options],
            cwd=settings.BASE_DIR,
            env={**os.environ, "TMPDIR": directory},
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds + _START_SECONDS,
        )
        if done.returncode:
            raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr[-2000:]}")
        found = json.loads(told.read_text())
    counts: dict[str, int] = found["outcomes"]
    good = counts.get("accepted", 0) + counts.get("refused", 0)
    covered = _COVERED.findall(done.stderr)
    more = {"seed": SEED, "seconds": seconds, "covered": int(covered[-1]) if covered else None, **found}
    return Result(name, good, "answered", sum(counts.values()), more)

"""What it costs that an answer is on the disk before it is given: SQLite as the site sets it up, and without.

`commit` is a transaction with one row, in a database by itself; `answer` a request that changes a note, with
all that belongs to it, to the web process of a real site. Both ways take turns, on the disk that has the
system's temporary directory (`TMPDIR`).
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from benchmarks import Result
from benchmarks._clients import Sender
from benchmarks._measured import cost_of, median_milliseconds, percentile
from benchmarks._sites import database_in, launched_site
from inference.features.library.example.loading import load_example
from pmweb.accounts.api_tokens import issue
from pmweb.accounts.people import ensure_administrator
from pmweb.models import Scope

_SETTINGS = {"FULL": "pmweb.settings", "NORMAL": "benchmarks._relaxed_settings"}
_ROW = 500  # bytes

Act = Callable[[int], None]


def run(quick: bool) -> Iterator[Result]:
    """Milliseconds of each, the median beside the median without, which is the reference."""
    for case, opened, times in (("commit", _commits, 5000), ("answer", _answers, 1000)):
        with ExitStack() as stack:
            acts = {mode: stack.enter_context(opened(mode)) for mode in _SETTINGS}
            yield _compared(case, acts, times // 10 if quick else times)


def _compared(case: str, acts: Mapping[str, Act], times: int) -> Result:
    """Median milliseconds of an act with all safety, beside those without, taken in turn."""
    seconds: dict[str, list[float]] = {mode: [] for mode in acts}
    for number in range(times):
        for mode, act in acts.items():
            seconds[mode].append(cost_of(partial(act, number)).wall)
    full, relaxed = seconds.values()
    p95, reference_p95 = (round(1000 * percentile(values, 0.95), 3) for values in (full, relaxed))
    more = {"p95": p95, "reference_p95": reference_p95, "times": times}
    return Result(case, median_milliseconds(full, 3), "ms", median_milliseconds(relaxed, 3), more)


@contextmanager
def _commits(mode: str) -> Iterator[Act]:
    """An act that commits one row to SQLite with the given PRAGMA synchronous."""
    with (
        tempfile.TemporaryDirectory(prefix="pmweb-durability-") as directory,
        closing(sqlite3.connect(Path(directory) / mode, isolation_level=None)) as database,
    ):
        database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous={mode}; CREATE TABLE rows (a)")

        def commit(_number: int) -> None:
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO rows VALUES (randomblob(?))", (_ROW,))
            database.execute("COMMIT")

        yield commit


@contextmanager
def _answers(mode: str) -> Iterator[Act]:
    """An act that changes a mapping's note through the API of a site with these settings."""
    with launched_site("--no-agent", environment={"DJANGO_SETTINGS_MODULE": _SETTINGS[mode]}) as site:
        with database_in(site.home):
            mapping = load_example().mapping.pk
            token = issue(ensure_administrator(), "a benchmark", Scope.OPERATE, None)[1]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        sender = Sender("127.0.0.1", site.port, headers)

        def change(number: int) -> None:
            body = json.dumps({"note": f"note {number}"})
            status, content = sender.send("PATCH", f"/api/v1/mappings/{mapping}", body)
            assert status == 200, content

        yield change

"""What it costs that an answer is on the disk before it is given: SQLite as the site sets it up, and without.

`commit` is a transaction with one row, in a database by itself; `answer` a request that changes a note, with
all that belongs to it, to the web process of a real site. Both ways take turns, on the disk that has the
system's temporary directory (`TMPDIR`).
"""

from __future__ import annotations

import http.client
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import Result
from tests.launched import LaunchedSite

_MODES = ("FULL", "NORMAL")
_SETTINGS = {"FULL": "pmweb.settings", "NORMAL": "benchmarks._relaxed_settings"}
_ROW = 500  # bytes
_TOKEN = """
from inference.features.library.example.loading import load_example
from pmweb.accounts import api_tokens
from pmweb.accounts.people import ensure_administrator
from pmweb.models import Scope
_, plain = api_tokens.issue(ensure_administrator(), "a benchmark", Scope.OPERATE, None)
print(load_example().mapping.pk, plain)
"""

Act = Callable[[int], None]


def run(quick: bool) -> Iterator[Result]:
    """Milliseconds of each, the median beside the median without, which is the reference."""
    with tempfile.TemporaryDirectory(prefix="pmweb-durability-") as directory, ExitStack() as opened:
        commits = {mode: opened.enter_context(_commits(Path(directory) / mode, mode)) for mode in _MODES}
        yield _compared("commit", commits, 500 if quick else 5000)
        answers = {
            mode: opened.enter_context(_answers(Path(directory) / f"home-{mode}", mode)) for mode in _MODES
        }
        yield _compared("answer", answers, 100 if quick else 1000)


def _compared(case: str, acts: dict[str, Act], times: int) -> Result:
    seconds: dict[str, list[float]] = {mode: [] for mode in _MODES}
    for number in range(times):
        for mode, act in acts.items():
            began = time.perf_counter()
            act(number)
            seconds[mode].append(time.perf_counter() - began)
    full, relaxed = (sorted(seconds[mode]) for mode in _MODES)
    place = times * 95 // 100
    more = {"p95": _ms(full[place]), "reference_p95": _ms(relaxed[place]), "times": times}
    return Result(case, _ms(statistics.median(full)), "ms", _ms(statistics.median(relaxed)), more)


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


@contextmanager
def _commits(path: Path, mode: str) -> Iterator[Act]:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous={mode}; CREATE TABLE rows (a)")

        def commit(_number: int) -> None:
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO rows VALUES (randomblob(?))", (_ROW,))
            database.execute("COMMIT")

        yield commit


@contextmanager
def _answers(home: Path, mode: str) -> Iterator[Act]:
    site = LaunchedSite(
        home, "--port", "0", "--no-agent", environment={"DJANGO_SETTINGS_MODULE": _SETTINGS[mode]}
    )
    try:
        server, _ = site.login_link()
        mapping, token = site.told_by(_TOKEN).split()[-2:]
        with closing(http.client.HTTPConnection(urlsplit(server).netloc)) as connection:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

            def change(number: int) -> None:
                body = json.dumps({"note": f"note {number}"})
                connection.request("PATCH", f"/api/v1/mappings/{mapping}", body, headers)
                answer = connection.getresponse()
                assert answer.status == 200, answer.read()
                answer.read()

            yield change
    finally:
        site.stop()

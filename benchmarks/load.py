"""Many at once: browsers that follow runs, requests, agents that measure, and runs that go on.

200 browsers' WebSockets, 50 requests a second, 8 simulated agents and 4 runs for ten minutes, on a site of
`manage.py up` with two web processes and a second worker, meant for two processors. Two runs evolve at any
time, as fast as they can; two measure. The visitors are one process (`_load_generator`) that keeps to one
processor and tells what it used.

How long a page takes is what the web processes themselves say (`/metrics/`), from the arrival of a request to
its last byte: the upper limit of the class that holds the 95th percentile. An event's lag is from the moment
that stands in its row until a browser has it. Memory is that of each process, with its share of what several
have (Pss), in the last fifth of the time beside the first, and in those between. `running` is how many runs
there were at once: the median of all looks, and the fewest that a look saw, since there is one less for a
moment whenever an evolution ends.
"""

from __future__ import annotations

import os
import re
import statistics
import threading
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from http.cookies import SimpleCookie

from django.conf import settings
from django.test import override_settings

from benchmarks import Result
from benchmarks._clients import Sender, VisitorProcess
from benchmarks._load_generator import Load, VisitorReport
from benchmarks._measured import mebibytes_of, percentile
from benchmarks._sites import database_in, launched_site, session_cookie
from inference.core.compiling_ahead import compile_all
from inference.core.mapping import PortMapping as Mapped
from inference.measuring.simulated_agent import simulated_facts
from inference.models import Machine, PortMapping, Run
from inference.runs import lifecycle
from inference.runs.machines import sessions
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from pmweb.accounts.people import ensure_administrator
from tests.launched import LaunchedSite, descendants, is_run, wait_until
from tests.processes import Process

MAX_SECONDS = {"page": 0.3, "lag": 1.0}
"""What is promised (95th percentiles)."""

_TOKEN = "numbers"
_WEB_PROCESSES = 2
_METRICS_SECONDS = 60.0  # until every web process has written its numbers
_BUCKET = re.compile(r'^pmweb_process_answer_seconds_bucket\{le="(.+)",pid="(\d+)"\} (\S+)$', re.MULTILINE)
_FAILED = re.compile(r'^pmweb_process_failed_answers_total\{pid="(\d+)"\} (\S+)$', re.MULTILINE)
_POLL_INTERVAL = 2.0  # seconds between looks at the memory of the processes
_QUICKEST_RUN = 15.0  # seconds that an evolution of `_GENERATIONS` takes at least, with another beside it
_GENERATIONS = 1000
_RUN = "run"
_SCHEMES, _PORTS = 60, 8


@dataclass(frozen=True)
class Size:
    """How much there is of everything, for how many seconds, after how many that do not count."""

    browsers: int = 200
    rate: float = 50.0
    agents: int = 8
    runs: int = 4
    seconds: float = 600.0
    warm_up: float = 30.0


QUICK = Size(browsers=40, rate=10.0, agents=4, runs=2, seconds=30.0, warm_up=5.0)


def run(quick: bool) -> Iterator[Result]:
    """The load once; five numbers of it. `PMWEB_LOAD_SECONDS` is another time than ten minutes."""
    size = QUICK if quick else Size(seconds=float(os.environ.get("PMWEB_LOAD_SECONDS", Size.seconds)))
    compile_all()  # what happens once per installation is no part of this
    environment = {
        "PMWEB_SECRET_KEY": str(settings.SECRET_KEY),
        "PMWEB_METRICS_TOKEN": _TOKEN,
        "PMWEB_RUNS_PER_USER": "0",
        "PMWEB_CONNECTIONS_PER_ADDRESS": "0",  # everybody comes from here, as one person
        "PMWEB_PROCESSOR_SECONDS": "0",
        "PMWEB_SOCKETS_PER_PERSON": "0",
        "PMWEB_WEB_PROCESSES": str(_WEB_PROCESSES),
    }
    with launched_site("--no-agent", environment=environment) as site:
        variables = {**environment, "PMWEB_HOME": str(site.home)}
        worker = Process(site.home / "worker", "work", environment=variables)
        try:
            yield from _measured(size, site, worker.pid)
        finally:
            worker.kill()


def _measured(size: Size, site: LaunchedSite, worker: int) -> Iterator[Result]:
    """Let the visitors come to a site that is warm, and compare its own metrics before and after."""
    with database_in(site.home):
        load = _prepared(size, site.login_link()[0])
    processes = _Processes({site.pid: "up", worker: "work"})
    with VisitorProcess("benchmarks._load_generator", asdict(load)) as visitors:
        time.sleep(size.warm_up)
        before = _answers(site)
        processes.start()
    after = _answers(site)
    processes.stop()
    with database_in(site.home):
        errors = list(Run.objects.filter(state=Run.State.FAILED).values_list("error", flat=True))
    more = {**asdict(size), **processes.running()}
    yield from _results(VisitorReport(**visitors.report), before, after, processes, errors, more)


def _prepared(size: Size, server: str) -> Load:
    """A site with something to look at, its machines with agents, and runs that last."""
    user = ensure_administrator()
    usage = {f"scheme {number}": ((1 << number % _PORTS | 1 << number % 5, 1),) for number in range(_SCHEMES)}
    truth = Mapped(tuple(map(str, range(_PORTS))), usage)
    isa = new_isa("made up", usage, "the benchmark")
    row = store_mapping("made up", isa, truth, origin=PortMapping.Origin.IMPORT)
    machines = [sessions.add_machine(f"machine {number}", isa) for number in range(size.agents)]
    given = [sessions.create_token(machine) for machine in machines]
    # As their agents will say: runs are taken for machines that have once been there.
    Machine.objects.update(facts=simulated_facts("simulated", truth))
    runs = _submitted(size, row, machines)
    session = session_cookie(user, server)
    cookie = "; ".join([session, *_first_cookies(server, session)])
    pages = ["/", "/runs/", "/machines/", "/mappings/", "/sets/", "/isas/", "/campaigns/"]
    pages += [f"/mappings/{row.pk}/"]
    pages += [f"/runs/{run.pk}/" for run in runs] + [f"/machines/{machine.pk}/" for machine in machines]
    sockets = [*(f"/ws/runs/{run.pk}/" for run in runs), "/ws/runs/"]
    mapping: list[object] = [truth.ports, usage]
    return Load(
        server,
        cookie,
        size.browsers,
        sockets,
        size.rate,
        pages,
        size.seconds + size.warm_up,
        given,
        20.0,
        mapping,
    )


def _first_cookies(server: str, cookie: str) -> list[str]:
    """The cookies that the site gives to a browser with its first page, which sends them from then on."""
    with urllib.request.urlopen(urllib.request.Request(f"{server}/", headers={"Cookie": cookie})) as answer:
        given = SimpleCookie("; ".join(answer.headers.get_all("Set-Cookie", ())))
    return [f"{name}={morsel.value}" for name, morsel in given.items()]


def _submitted(size: Size, truth: PortMapping, machines: Sequence[Machine]) -> list[Run]:
    """Submit the runs: half of them measure, for longer than this takes, and the others evolve.

    When one of these is done, the next one begins; they are so many that there is always one.
    """
    user = ensure_administrator()
    evolving = {
        "algorithm": "pmevo",
        "ports": _PORTS,
        "source": {"simulate": truth.pk},
        "settings": {
            "search": "evolution",
            "population": 3000,
            "max_generations": _GENERATIONS,
            "convergence": 0,
            "threads": 1,
        },
    }
    measuring = {"schemes": "all", "plan": "mixes", "mixes": int(33 * max(size.seconds, Size.seconds))}
    seats = size.runs // 2
    spare = 2 + int((size.seconds + size.warm_up) / _QUICKEST_RUN)
    wanted: list[tuple[str, dict[str, object]]] = [
        *(("measure", {**measuring, "machine": machine.pk}) for machine in machines[:seats]),
        *(("infer", {**evolving, "seed": seed}) for seed in range((size.runs - seats) * spare)),
    ]
    with override_settings(RUNS_PER_USER=0):
        return [
            lifecycle.submit(kind, config, f"{kind} {number}", user)
            for number, (kind, config) in enumerate(wanted)
        ]


def _answers(site: LaunchedSite) -> tuple[Counter[float], float]:
    """Of all web processes: answers that took at most so many seconds, and those that failed.

    Which of them tells its numbers is chance: it is asked until all have.
    """
    sender = Sender("127.0.0.1", site.port, {"Authorization": f"Bearer {_TOKEN}"})
    texts: dict[str, str] = {}

    def are_complete() -> bool:
        text = sender.send("GET", "/metrics/")[1].decode()
        texts.update((pid, text) for pid, _ in _FAILED.findall(text))
        return len(texts) == _WEB_PROCESSES

    wait_until(are_complete, _METRICS_SECONDS, f"the numbers of {_WEB_PROCESSES} web processes")
    within: Counter[float] = Counter()
    for text in texts.values():
        within.update({float(limit): int(float(count)) for limit, _, count in _BUCKET.findall(text)})
    return within, sum(float(_FAILED.findall(text)[0][1]) for text in texts.values())


def _results(
    report: VisitorReport,
    before: tuple[Counter[float], float],
    after: tuple[Counter[float], float],
    processes: _Processes,
    failed_runs: list[str],
    more: Mapping[str, object],
) -> Iterator[Result]:
    """Results from what the site counted and what the visitors report.

    report: Of the visitors.
        before: The site's answers by time limit, and its errors, when the visitors were there.
        after: The same at the end.
        processes: Sizes of the site's processes meanwhile.
        failed_runs: Errors of runs.
        more: What goes with the first result.
    """
    answers = {limit: after[0][limit] - before[0][limit] for limit in after[0]}
    total = answers[float("inf")]
    limit = next(limit for limit, count in sorted(answers.items()) if count >= 0.95 * total)
    yield Result(
        "page-p95",
        round(limit * 1000, 1) if limit < float("inf") else 1e9,
        "ms",
        MAX_SECONDS["page"] * 1000,
        {
            **more,
            "answers": int(total),
            "within": {
                f"{1000 * seconds:g}": int(count) for seconds, count in sorted(answers.items()) if seconds < 9
            },
            "visitors_p95": round(1000 * percentile(report.times, 0.95), 1),
            "behind": round(report.late, 3),
        },
    )
    lag = percentile(report.lags, 0.95)
    median = round(percentile(report.lags, 0.5), 4)
    yield Result(
        "event-lag-p95",
        round(lag, 4),
        "s",
        MAX_SECONDS["lag"],
        {"events": len(report.lags), "median": median},
    )
    errors = sum(report.errors.values()) + (after[1] - before[1]) + len(failed_runs)
    kinds = {"seen": dict(report.errors.most_common(5)), "runs": failed_runs[:3]}
    yield Result("errors", errors, "errors", None, kinds)
    grown = processes.grown()
    worst = max(grown.values(), key=lambda sizes: sizes[-1] - sizes[0], default=[0.0, 0.0])
    memory = {name: [round(size, 1) for size in sizes] for name, sizes in grown.items()}
    yield Result("memory-growth", round(worst[-1] - worst[0], 1), "MiB", None, {"processes": memory})
    yield Result("generator", round(report.cpu, 3), "processors", None, {"limit": 1, "niceness": 0})


class _Processes:
    """Looks at every process below some, every few seconds: how much each has, and which of them are runs."""

    def __init__(self, above: Mapping[int, str]) -> None:
        self._above = above
        self._sizes: dict[str, list[float]] = defaultdict(list)
        self._runs: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def grown(self) -> dict[str, list[float]]:
        """MiB of each process in every fifth of the time, one after the other; late ones are left out."""
        most = max((len(sizes) for sizes in self._sizes.values()), default=0)
        fifth = max(most // 5, 1)
        return {
            name: [
                statistics.median(sizes[at : at + fifth]) for at in range(0, 5 * fifth, fifth) if sizes[at:]
            ]
            for name, sizes in sorted(self._sizes.items())
            if len(sizes) >= 0.9 * most
        }

    def running(self) -> dict[str, float]:
        """How many runs there were at once."""
        return {"running": statistics.median(self._runs), "running_least": min(self._runs)}

    def _watch(self) -> None:
        """Note sizes of all processes, and how many of them are runs, until it is stopped."""
        while not self._over.wait(_POLL_INTERVAL):
            processes = dict(self._above)
            for pid in self._above:
                processes |= descendants(pid)
            sizes = {f"{_called(name)} {pid}": mebibytes_of([pid]) for pid, name in processes.items()}
            for name, size in sizes.items():
                if size:
                    self._sizes[name].append(size)
            self._runs.append(sum(name.startswith(_RUN) for name, size in sizes.items() if size))


def _called(command: str) -> str:
    if is_run(command):
        return _RUN
    return next((word for word in ("daphne", "fork-server", "work") if word in command), command)

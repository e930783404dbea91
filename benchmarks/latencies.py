"""Latencies: how many documented ones of this computer's core are found.

A site with an agent measures the documented schemes in a run of the kind `latencies`. The value is the share
of documented pairs of operands that are within 0.1 cycles, counting those without a value as others; `off`
has all others. The reference is what is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import MissingDataError, Result
from benchmarks._sites import database_in, launched_site
from inference.agent.facts import choose_core, facts
from inference.isa.x86.textbook_latencies import DOCUMENTED_CORES, documented_latencies
from inference.models import LatencySet, Machine, Run
from inference.models.scheme_search import CHAINABLE
from inference.runs import lifecycle
from inference.runs.machines.facts import executable_schemes
from inference.storage.latencies import NEAR, documented_core, documented_share
from tests.launched import wait_until

WANTED = 0.95  # share of documented latencies that are to be found
QUICK_SCHEMES = 20
_CONNECT_SECONDS, _MEASURE_SECONDS = 120.0, 1800.0


def run(quick: bool) -> Iterator[Result]:
    """One number; `quick` measures the first few schemes alone."""
    if reason := facts(choose_core())["unfit"]:
        raise MissingDataError(reason)
    with launched_site() as site, database_in(site.home):
        yield _documented(_connected(), quick)


def _connected() -> Machine:
    """This computer, as the site's agent has told of it. Raises `MissingDataError`."""
    rows = Machine.objects.exclude(facts={}).select_related("isa")
    wait_until(rows.exists, _CONNECT_SECONDS, "the site's agent")
    machine = rows.get()
    if not documented_core(machine):
        known = ", ".join(DOCUMENTED_CORES)
        raise MissingDataError(f"no latencies are documented of {machine.cpu}; there are those of {known}")
    return machine


def _documented(machine: Machine, quick: bool) -> Result:
    """Share of the documented latencies of this core that a run finds, within `NEAR` cycles."""
    texts = {link.scheme for link in documented_latencies(documented_core(machine))}
    schemes = list(executable_schemes(machine, CHAINABLE).filter(text__in=texts).order_by("text"))
    chosen = [scheme.pk for scheme in schemes][: QUICK_SCHEMES if quick else None]
    config = {"machine": machine.pk, "schemes": chosen}
    task = lifecycle.submit("latencies", config, "documented latencies")
    ended = Run.objects.filter(pk=task.pk, state__in=Run.FINAL)
    wait_until(ended.exists, _MEASURE_SECONDS, "the end of the run")
    task.refresh_from_db()
    assert task.state == Run.State.DONE, task.error
    found = documented_share(LatencySet.objects.select_related("machine__isa").get(run=task))
    assert found is not None, "the core was looked at before"
    more = {
        "cpu": machine.cpu,
        "microarchitecture": found.core,
        "schemes": len(chosen),
        "pairs": found.pairs,
        "within": found.within,
        "within_cycles": NEAR,
        "seconds": round(task.busy_seconds, 1),
        "off": [
            {
                "pair": f"{pair.scheme}: {pair.source} → {pair.destination}",
                "measured": pair.why if pair.least is None else [pair.least, pair.most],
                "documented": [pair.documented_least, pair.documented_most],
            }
            for pair in found.off
        ],
    }
    return Result("documented", round(found.within / found.pairs, 4), "share", WANTED, more)

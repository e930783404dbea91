"""Every page of the site on a database of a million measurements: milliseconds, how many queries, and when a
browser shows something of it.

`pages` has one visit at least for every address that somebody can open; what is no page is named in `EXEMPT`
with the reason. A test holds both against the addresses that there are, so that nothing new goes unmeasured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse

from benchmarks import Result
from benchmarks._generated_site import Scale, World
from benchmarks._measured import page_result
from benchmarks._temporary_database import administrators_client
from pmweb.accounts.people import ensure_administrator
from pmweb.permissions.table import TABLE

PAGE_MILLISECONDS, CLICK_MILLISECONDS = 150, 300
MOST_QUERIES = 30
_REQUESTS = 7

Arguments = Callable[[World], Mapping[str, Any]]


@dataclass(frozen=True)
class Visit:
    """A page of an address: the arguments of its path, and the query behind it; `part` names the case.

    `limit`: milliseconds that it may take; `stranger`: whoever has not logged in opens it.
    """

    arguments: Arguments = lambda world: {}
    query: Callable[[World], str] = lambda world: ""
    part: str = ""
    limit: int = PAGE_MILLISECONDS
    stranger: bool = False


def _of(name: str, **more: Callable[[World], Any]) -> Arguments:
    """The number of something in the world as `pk`, and other arguments."""

    def arguments(world: World) -> Mapping[str, Any]:
        return {"pk": getattr(world, name).pk, **{key: find(world) for key, find in more.items()}}

    return arguments


def _tabs(name: str, *tabs: str) -> list[Visit]:
    return [Visit(_of(name), lambda world, tab=tab: f"tab={tab}", part=tab) for tab in tabs]  # type: ignore[misc]


def _on_large(world: World) -> str:
    return f"tab=accuracy&set={world.large.pk}&unit=cycles"


def _compared(world: World) -> str:
    return f"first={world.large.pk}&second={world.again.pk}"


_SUBJECTS = {
    "isa": "isa",
    **dict.fromkeys(("machine", "latencies-measure", "know"), "machine"),
    "core-model": "core_model",
    "upload-core-model": "core_file",
    "front-end": "front_end",
    "latency": "latencies",
    "mapping": "mapping",
    "resource-mapping": "resources",
    "run": "inference",
    "set": "large",
    "block-set": "block_set",
    "asked-blocks": "question",
    "campaign": "campaign",
    "discovery": "discovery",
    "family": "family",
    "comparison": "comparison",
    "upload-preview": "upload",
    "upload-run": "archive",
    "anica-import": "anica",
    "anica-loops": "program",
}
"""{beginning of the name of an address: what in the world the number in it is of}."""

SPECIAL_PAGES: dict[str, list[Visit]] = {
    "login": [Visit(stranger=True)],
    "account-of": [Visit(lambda world: {"pk": ensure_administrator().pk})],
    "scheme": [Visit(lambda world: {"pk": world.scheme})],
    "instruction": [Visit(lambda world: {"isa": "x86-64", "mnemonic": "imul"})],
    "experiment": [Visit(lambda world: {"pk": world.experiment})],
    "mapping": [
        Visit(_of("mapping")),
        *_tabs("mapping", "schemes", "doubts"),
        *_tabs("explained", "explained"),
        Visit(_of("mapping"), lambda world: f"tab=compare&with={world.other.pk}", part="compare"),
        Visit(_of("mapping"), _on_large, part="accuracy"),
        Visit(
            _of("mapping"),
            lambda world: f"{_on_large(world)}&bin={world.bin[0]},{world.bin[1]}",
            part="accuracy-bin",
            limit=CLICK_MILLISECONDS,
        ),
        Visit(
            _of("mapping"), lambda world: f"{_on_large(world)}&scheme={world.scheme}", part="accuracy-scheme"
        ),
    ],
    "latencies-compare": [
        Visit(),
        Visit(
            query=lambda world: f"first={world.latencies.pk}&second={world.other_latencies.pk}", part="two"
        ),
    ],
    "latency-scheme": [Visit(_of("latencies", scheme=lambda world: world.scheme))],
    "scheme-proof": [Visit(_of("explained", scheme=lambda world: world.scheme))],
    "set": [
        Visit(_of("large")),
        Visit(_of("large"), lambda world: "length=3&sort=-cycles", part="filtered"),
        Visit(_of("large"), lambda world: "q=imul", part="searched"),
    ],
    "set-conflicts": [
        Visit(_of("large")),
        Visit(_of("large"), lambda world: "by=classes", part="classes"),
    ],
    "sets-compare": [
        Visit(),
        Visit(query=_compared, part="two"),
        Visit(query=lambda world: f"{_compared(world)}&bin=2,2", part="bin", limit=CLICK_MILLISECONDS),
    ],
    "block-set": [Visit(_of("block_set")), *_tabs("block_set", "columns", "accuracy")],
    "campaign": [Visit(_of("campaign")), *_tabs("campaign", "asked", "rounds", "selection", "left-out")],
    "campaign-round": [Visit(_of("campaign", number=lambda world: 1))],
    "campaign-compare": [
        Visit(),
        Visit(query=lambda world: f"c={world.campaign.pk}&c={world.other_campaign.pk}", part="two"),
    ],
    "discovery": [
        Visit(_of("discovery")),
        Visit(_of("discovery"), lambda world: "step=30", part="step"),
        Visit(_of("deep"), part="2000"),
        Visit(_of("deep"), lambda world: "step=1999", part="step-2000"),
    ],
    "predictor-add": [Visit(lambda world: {"kind": "llvm-mca"})],
}
"""{name of an address: what is opened of it} where that is more than the address by itself."""

_FILE = "a file with all of it: as long as its content takes"
_COMPARISON = "leads on to comparisons"
EXEMPT = {
    **dict.fromkeys(("health", "metrics"), "for programs that watch the site"),
    **dict.fromkeys(("login-link",), "works once"),
    **dict.fromkeys(("shared", "shared-file"), "asks for a token that only its maker knows"),
    **dict.fromkeys(("agent-download",), "the agent's program, packed when it is fetched"),
    **dict.fromkeys(("experiment-snippet", "discovery-session", "discovery-report"), _FILE),
    **dict.fromkeys(("block-set-baseline", "family-report", "family-test", "family-snippet"), _FILE),
    **dict.fromkeys(("publish-zip", "api-client"), _FILE),
    **dict.fromkeys(("mapping-llvm-report", "discovery-tree", "discovery-blocks", "campaign-file"), _FILE),
    **dict.fromkeys(("api-token-make",), "answers a form with a token that is shown once"),
    **dict.fromkeys(("accuracy-checks", "accuracy-check", "accuracy-check-new"), _COMPARISON),
    **dict.fromkeys(("matrices", "matrix", "matrix-new", "matrix-cell"), _COMPARISON),
    **dict.fromkeys(("confirm",), "leads on whoever has logged in lately"),
}
"""{name: why it is no page}. Files that the audit log notes, and addresses without GET, need no entry."""


def is_exempt(name: str, rule: Any) -> bool:
    """Whether an address is no page: nobody reads it, programs do, or it is a file."""
    return (
        rule.read is None
        or rule.guards_itself
        or name in EXEMPT
        or name.startswith("ws-")
        or name.endswith(("-csv", "-export", "-archive"))
    )


def pages() -> dict[str, list[Visit]]:
    """{name of an address: what is opened of it}, for each that needs nothing or the number of a subject."""
    visits = dict(SPECIAL_PAGES)
    for name, rule in TABLE.items():
        subjects = [begin for begin in _SUBJECTS if f"{name}-".startswith(f"{begin}-")]
        if name in visits or is_exempt(name, rule):
            continue
        if _has_address(name):
            visits[name] = [Visit()]
        elif subjects and _has_address(name, pk=1):
            visits[name] = [Visit(_of(_SUBJECTS[max(subjects, key=len)]))]
    return visits


def _has_address(name: str, **arguments: int) -> bool:
    try:
        return bool(reverse(name, kwargs=arguments))
    except NoReverseMatch:
        return False


def site_pages(world: World, scale: Scale) -> Iterator[Result]:
    """A case for every visit."""
    for name, visits in pages().items():
        for visit in visits:
            client = Client() if visit.stranger else administrators_client()
            url = _address(name, visit, world)
            client.get(url)  # what is remembered per process is looked up
            with CaptureQueriesContext(connection) as queries:
                client.get(url)
            number = len(queries)  # now: the next request forgets them
            more = {"queries": number, "limit": visit.limit, "measurements": scale.measurements}
            yield page_result(client, _case(name, visit), url, _REQUESTS, more)


def addresses(world: World) -> Mapping[str, str]:
    """{case: address} of what somebody who has logged in opens."""
    return {
        _case(name, visit): _address(name, visit, world)
        for name, visits in pages().items()
        for visit in visits
        if not visit.stranger
    }


def _case(name: str, visit: Visit) -> str:
    return f"{name}-{visit.part}" if visit.part else name


def _address(name: str, visit: Visit, world: World) -> str:
    query = visit.query(world)
    return reverse(name, kwargs=dict(visit.arguments(world))) + (f"?{query}" if query else "")

"""Every page of the site on a database of a million measurements: milliseconds, how many queries, and when a
browser shows something of it.

`PAGES` has one visit at least for every address that somebody can open; what is no page is named in `EXEMPT`
with the reason. A test holds both against the addresses that there are, so that nothing new goes unmeasured.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from benchmarks import Result
from benchmarks._generated_site import Scale, World, generated_site
from benchmarks._site_pictures import pictures
from benchmarks._temporary_database import PLAIN_STATIC, temporary_database
from pmweb.accounts.people import ensure_administrator

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
    headers: Mapping[str, str] = field(default_factory=dict)


def _of(name: str, **more: Callable[[World], Any]) -> Arguments:
    """The number of something in the world as `pk`, and other arguments."""

    def arguments(world: World) -> Mapping[str, Any]:
        return {"pk": getattr(world, name).pk, **{key: find(world) for key, find in more.items()}}

    return arguments


def _tabs(name: str, *tabs: str) -> list[Visit]:
    return [Visit(_of(name), lambda world, tab=tab: f"tab={tab}", part=tab) for tab in tabs]  # type: ignore[misc]


def _discovery(world: World) -> Mapping[str, Any]:
    return {"pk": world.campaign.discoveries.order_by("number")[0].pk}


def _family(world: World) -> Mapping[str, Any]:
    return {"pk": world.campaign.families.order_by("number")[0].pk}


def _bin(world: World) -> str:
    return f"{world.bin[0]},{world.bin[1]}"


def _on_large(world: World) -> str:
    return f"tab=accuracy&set={world.large.pk}&unit=cycles"


def _compared(world: World) -> str:
    return f"first={world.large.pk}&second={world.again.pk}"


_PLAIN = (
    *("start", "account", "sessions", "password", "accounts", "account-invite", "audit", "about", "glossary"),
    "tour",
    *(
        "shares",
        "storage",
        "api",
        "check-model",
        "experiments",
        "infer",
        "isa-load",
        "isas",
        "machines",
        "machine-add",
    ),
    *(
        "core-models",
        "core-model-new",
        "front-ends",
        "latencies",
        "machines-arm",
        "publish",
        "mappings",
        "resource-mappings",
        "runs",
        "upload",
        "search",
        "sets",
        "sets-merge",
    ),
    *("accuracy-checks", "accuracy-check-new"),
    *("block-sets", "block-set-upload", "blocks", "campaigns", "campaign-new", "comparisons"),
    *("comparison-new", "matrices", "matrix-new", "predictors"),
)
_ONE_OF = {
    "isa": ("isa",),
    "machine": ("machine", "machine-edit", "machine-delete", "machine-measure", "latencies-measure", "know"),
    "core_model": ("core-model", "core-model-ports", "core-model-edit", "core-model-delete"),
    "core_file": ("upload-core-model",),
    "front_end": ("front-end", "front-end-edit", "front-end-delete"),
    "latencies": (
        "latency-set",
        "latency-memory",
        "latency-bypasses",
        "latency-set-edit",
        "latency-set-delete",
    ),
    "machine ": ("machine-state", "machine-noise", "machine-trust", "machine-arrival"),
    "mapping": ("mapping-edit", "mapping-delete", "mapping-convert", "mapping-llvm"),
    "resources": ("resource-mapping", "resource-mapping-edit", "resource-mapping-delete"),
    "inference": ("run", "run-edit", "run-delete", "run-heat-map"),
    "large": ("set-edit", "set-delete"),
    "block_set": ("block-set-edit", "block-set-delete", "block-set-ask", "block-set-gate"),
    "question": ("asked-blocks",),
    "campaign": ("campaign", "campaign-edit", "campaign-delete"),
    "comparison": ("comparison",),
    "matrix": ("matrix",),
    "accuracy_check": ("accuracy-check",),
    "upload": ("upload-preview",),
    "archive": ("upload-run",),
    "anica": ("anica-import",),
    "program": ("anica-loops",),
}

PAGES: dict[str, list[Visit]] = {
    **{name: [Visit()] for name in _PLAIN},
    **{name: [Visit(_of(of.strip()))] for of, names in _ONE_OF.items() for name in names},
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
            lambda world: f"{_on_large(world)}&bin={_bin(world)}",
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
    "block-set": [
        Visit(_of("block_set")),
        *_tabs("block_set", "columns", "accuracy"),
    ],
    "campaign": [
        Visit(_of("campaign")),
        *_tabs("campaign", "asked", "rounds", "selection", "left-out"),
    ],
    "campaign-round": [Visit(_of("campaign", number=lambda world: 1))],
    "campaign-compare": [
        Visit(),
        Visit(query=lambda world: f"c={world.campaign.pk}&c={world.other_campaign.pk}", part="two"),
    ],
    "family": [Visit(_family)],
    "discovery": [Visit(_discovery), Visit(_discovery, lambda world: "step=30", part="step")],
    "discovery-ask": [Visit(_discovery)],
    "discovery-schemes": [Visit(_discovery)],
    "discovery-reproduce": [Visit(_discovery)],
    "matrix-cell": [Visit(_of("matrix", first=lambda world: 0, second=lambda world: 1))],
    "predictor-add": [Visit(lambda world: {"kind": "llvm-mca"})],
}
"""{name of an address: what is opened of it}."""

_FILE = "a file with all of it: as long as its content takes"
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


def site_pages(quick: bool) -> Iterator[Result]:
    """A case for every visit; `quick` has a tenth of everything."""
    scale = Scale.quick() if quick else Scale()
    with (
        temporary_database() as home,
        override_settings(STORAGES=PLAIN_STATIC, ALLOWED_HOSTS=["testserver"]),
    ):
        began = time.perf_counter()
        world = generated_site(scale)
        took = round(time.perf_counter() - began, 1)
        yield Result("site-generated", took, "s", more={"measurements": scale.measurements})
        for name, visits in PAGES.items():
            for visit in visits:
                yield _visited(name, visit, world, scale)
        addresses = {
            _case(name, visit): _address(name, visit, world)
            for name, visits in PAGES.items()
            for visit in visits
            if not visit.stranger and not visit.headers
        }
        yield from pictures(home, addresses)


def _case(name: str, visit: Visit) -> str:
    return f"{name}-{visit.part}" if visit.part else name


def _address(name: str, visit: Visit, world: World) -> str:
    query = visit.query(world)
    return reverse(name, kwargs=dict(visit.arguments(world))) + (f"?{query}" if query else "")


def _visited(name: str, visit: Visit, world: World, scale: Scale) -> Result:
    client = Client()
    if not visit.stranger:
        client.force_login(ensure_administrator())
    url = _address(name, visit, world)
    client.get(url, headers=visit.headers)  # what is remembered per process is looked up
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(url, headers=visit.headers)
    asked = len(queries)  # now: the next request forgets them
    if answer.status_code != 200:
        raise RuntimeError(f"{url} answered {answer.status_code}")
    walls, processor = [], []
    for _ in range(_REQUESTS):
        wall, spent = time.perf_counter(), time.process_time()
        client.get(url, headers=visit.headers)
        walls.append(time.perf_counter() - wall)
        processor.append(time.process_time() - spent)
    more = {
        "cpu": _milliseconds(processor),
        "queries": asked,
        "bytes": len(answer.content),
        "limit": visit.limit,
        "measurements": scale.measurements,
    }
    return Result(_case(name, visit), _milliseconds(walls), "ms", more=more)


def _milliseconds(seconds: list[float]) -> float:
    return round(1000 * statistics.median(seconds), 1)

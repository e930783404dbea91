"""How far a campaign is, what failed in it, and which schemes it had to leave out because of whom."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from django.db.models import Count, Q
from pydantic import BaseModel, Field, ValidationError

from anica_app.core.search.events import Counted
from anica_app.models import Campaign
from anica_app.storage.domains import SUPPORT
from inference.formats.archived_parts import StrictJsonError, load
from inference.models import Run

_MOST_BYTES, _MOST_VALUES = 16 << 20, 1_000_000
"""Of that file: with some ten thousand schemes, and what some tools say of each, it has a megabyte."""


class _Support(BaseModel):
    """What it says; see `anica_app.storage.domains`."""

    lacking: dict[str, dict[Annotated[str, Field(pattern=r"^[1-9][0-9]{0,3}$")], str]]


@dataclass(frozen=True)
class CampaignStanding:
    """How far a campaign is, from its rows and, while it runs, from what it told last."""

    sampled: int
    interesting: int
    subsumed: int
    rounds: int
    discoveries: int
    included: int
    generalisations: int | None
    judged: int | None
    generalising: int
    rate: float | None
    seconds: float
    failures: tuple[tuple[str, int], ...]

    @property
    def ratio(self) -> float | None:
        """Of the fresh blocks, the share that is interesting."""
        return self.interesting / self.sampled if self.sampled else None


@dataclass(frozen=True)
class Lacking:
    """Schemes that a tool does not support: which tool, why, how many, the first ones; `file` has all."""

    tool: str
    reason: str
    count: int
    schemes: tuple[str, ...]
    file: int


def standing_of(campaign: Campaign, run: Run | None) -> CampaignStanding:
    """Counters of a campaign (two queries, three while it runs)."""
    told = campaign.discoveries.aggregate(n=Count("pk"), standing=Count("pk", filter=Q(subsumed_by=None)))
    live = None if run is None or run.state in Run.FINAL else _last_counted(run)
    counters = live or campaign
    facts = {**campaign.facts, **({} if live is None else live.payload())}
    seconds = facts.get("seconds", campaign.seconds)
    judged = facts.get("judged")
    rate = (live and live.rate) or (judged / seconds if judged and seconds else None)
    return CampaignStanding(
        sampled=counters.sampled,
        interesting=counters.interesting,
        subsumed=counters.subsumed,
        rounds=counters.rounds,
        discoveries=told["standing"],
        included=told["n"] - told["standing"],
        generalisations=facts.get("generalisations"),
        judged=judged,
        generalising=live.generalising if live else 0,
        rate=rate,
        seconds=seconds,
        failures=tuple(sorted(facts.get("failures", {}).items(), key=lambda item: -item[1])),
    )


def _last_counted(run: Run) -> Counted | None:
    """The newest counters in the journal; None before there are any."""
    event = run.events.filter(kind=Counted.kind).order_by("-seq").first()
    return None if event is None else Counted.read(event.payload)


def lacking_of(campaign: Campaign, tools: list[str], shown: int = 200) -> list[Lacking]:
    """Which schemes were left out because of whom (one query); [] where nobody has kept it."""
    file = campaign.files.filter(path=SUPPORT, size__lte=_MOST_BYTES).first()
    lacking = {} if file is None else _lacking(zlib.decompress(bytes(file.content)))
    if file is None or not lacking:
        return []
    schemes: dict[tuple[str, str], list[str]] = {}
    for text, answers in lacking.items():
        for number, reason in answers.items():
            schemes.setdefault((number, reason), []).append(text)
    return [
        Lacking(_tool(tools, number), reason, len(texts), tuple(sorted(texts)[:shown]), file.pk)
        for (number, reason), texts in sorted(schemes.items())
    ]


def _lacking(content: bytes) -> dict[str, dict[str, str]]:
    """{scheme: {number of the tool: reason}}.

    {} where the file came with an imported campaign and says something else: it is kept as it was.
    """
    try:
        return _Support.model_validate(load(content, SUPPORT, _MOST_VALUES)).lacking
    except (StrictJsonError, ValidationError):
        return {}


def _tool(tools: list[str], number: str) -> str:
    place = int(number) - 1
    return tools[place] if 0 <= place < len(tools) else number


def failures_in_words(failures: tuple[tuple[str, int], ...], tools: list[str]) -> list[tuple[str, str, int]]:
    """(what, whose, how often) of "timeout of 2"."""
    found: Counter[tuple[str, str]] = Counter()
    for name, count in failures:
        what, of, number = name.rpartition(" of ")
        found[(what, _tool(tools, number)) if of and number.isdecimal() else (name, "")] += count
    return [(what, whose, count) for (what, whose), count in found.items()]

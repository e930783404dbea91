"""What was asked of a campaign, in words, and which campaigns runs have made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.urls import reverse

from anica_app.core.search.settings import Termination
from anica_app.features.campaigns.comparing import flattened
from anica_app.features.campaigns.form import LABELS, value_text
from anica_app.features.campaigns.request import PRESETS
from anica_app.models import Campaign, Discovery
from anica_app.storage.descriptions import GROUPS
from inference.features.running.runs.kind_presentation import DescriptionItem, Link, RunOutcome
from inference.models import PortMapping, Run


def campaigns_of(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """The campaigns of these runs, those that are still searched for among them (one query)."""
    rows = Campaign.objects.filter(run__in=[run.pk for run in runs]).only("name", "run_id")
    return {
        row.run_id: RunOutcome(row.name, reverse("campaign", args=[row.pk]))
        for row in rows
        if row.run_id is not None
    }


_PLAIN = ("preset", "seed", "scheme_filter", "evaluate", "block", "minimise", "tolerance")
_OWN_LABELS = {
    "scheme_filter": "Scheme search",
    "evaluate": "Fresh blocks for coverage",
    "block": "Block",
    "minimise": "Minimised first",
    "tolerance": "Equal within",
}
_LONGEST = 300


def asked_of(campaign: Campaign) -> list[DescriptionItem]:
    """Configuration of it; of an imported one in the words of its file."""
    if campaign.format != Campaign.Format.OURS:
        return [DescriptionItem(name, _text(value)) for name, value in flattened(campaign.config)]
    return [item for item in _ours(campaign.config) if item.text or item.links]


def _ours(config: Mapping[str, Any]) -> Iterator[DescriptionItem]:
    for name in _PLAIN:
        if name in config:
            label = _OWN_LABELS.get(name, name.capitalize())
            preset = PRESETS.get(config[name]) if name == "preset" else None
            yield DescriptionItem(label, _text(config[name]) if preset is None else preset.title)
    if config.get("uops"):
        row = PortMapping.objects.filter(pk=config["uops"]).only("name").first()
        links = () if row is None else (Link(row.name, reverse("mapping", args=[row.pk])),)
        yield DescriptionItem("Source of µop counts", "" if links else "a deleted mapping", links=links)
    if config.get("excluded"):
        yield _excluded([one.get("discovery") for one in config["excluded"]])
    for entry in dataclasses.fields(Termination):
        value = config.get("end", {}).get(entry.name)
        if value is not None:
            yield DescriptionItem(f"Ends after {LABELS.get(entry.name, entry.name).lower()}", _text(value))
    for group, cls in GROUPS.items():
        known = {entry.name: entry for entry in dataclasses.fields(cls)}
        for name, value in config.get(group, {}).items():
            usual = name in known and value == known[name].default
            label = LABELS.get(name, name.replace("_", " ").capitalize())
            yield DescriptionItem(label, _text(value) or "none", changed=not usual, usual=usual)


def _excluded(ids: list[Any]) -> DescriptionItem:
    rows = Discovery.objects.filter(pk__in=[pk for pk in ids if pk]).select_related("campaign")
    links = tuple(
        Link(f"{row.campaign.name}: {row}", reverse("discovery", args=[row.pk]))
        for row in rows.only("number", "label", "campaign__name")
    )
    gone = len(ids) - len(links)
    return DescriptionItem(
        "Excluded discoveries", f"{gone} that are gone" if gone else "", links=links, changed=True
    )


def _text(value: Any) -> str:
    text = "none" if value is None else value_text(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"

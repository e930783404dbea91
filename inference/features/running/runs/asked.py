"""A run's description in words, for its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Model
from django.urls import reverse

from inference.core.protocols import Json
from inference.features.running.runs.kind_presentation import DescriptionItem, Link, presentation_of
from inference.models import ExperimentSet, Machine, PortMapping, ResourceMapping, Run
from inference.models.scheme_search import GROUP_SELECTIONS


def asked_of(run: Run) -> list[DescriptionItem]:
    """Configuration of a run, whatever its kind."""
    words = presentation_of(run.kind).words or _plain
    return [item for item in words(run) if item.text or item.links]


def schemes_in_words(config: Json) -> str:
    """The schemes that a run measures, as its description names them."""
    sample = config.get("sample")
    return f"{sample:,} of {_selection(config)}" if sample else _selection(config)


def _selection(config: Json) -> str:
    chosen = config["schemes"]
    if isinstance(chosen, list):
        found = f" found by {config['scheme_filter']}" if config["scheme_filter"] else ""
        return f"{len(chosen):,}{found}"
    return {
        "all": "all schemes in the data",
        "default": "the default set",
        "starter": "the starter set",
        "probes": "probes of each kind of execution unit",
        **GROUP_SELECTIONS,
    }[chosen]


def _plain(run: Run) -> Iterator[DescriptionItem]:
    for key, value in run.config.items():
        label = key.replace("_", " ").capitalize()
        if key == "mapping":
            yield DescriptionItem("Port mapping", links=links(PortMapping, "mapping", [value]))
        elif key == "resource_mapping":
            yield DescriptionItem(
                "Resource mapping", links=links(ResourceMapping, "resource-mapping", [value])
            )
        elif key == "experiment_set":
            yield DescriptionItem("Measurements", links=links(ExperimentSet, "set", [value]))
        elif key == "machine":
            yield DescriptionItem("Machine", links=links(Machine, "machine", [value]))
        elif key == "isa":
            yield DescriptionItem("Instruction set", value)
        elif key == "schemes":
            yield DescriptionItem("Schemes", schemes_in_words(run.config))
        elif key == "scheme_filter":
            continue  # is told with the schemes
        else:
            yield DescriptionItem(label, in_words(value))


def in_words(value: Any) -> str:
    """A value of a description."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def links(model: type[Model], url_name: str, ids: list[int]) -> tuple[Link, ...]:
    """The pages of rows with these ids, in this order."""
    names = dict(model._default_manager.filter(pk__in=ids).values_list("pk", "name"))
    return tuple(
        Link(names[pk], reverse(url_name, args=[pk])) if pk in names else Link("deleted", "#") for pk in ids
    )

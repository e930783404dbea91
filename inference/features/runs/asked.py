"""A run's description in words, for its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.urls import reverse

from inference.core.protocols import Json
from inference.features.inferring.algorithm_texts import OFFERS, as_text
from inference.features.inferring.request import InferConfig
from inference.features.inferring.subject import own_stages
from inference.features.runs.query import inferred_by
from inference.measuring.simulated import NOTHING, UOPS
from inference.models import ExperimentSet, Machine, PortMapping, ResourceMapping, Run
from inference.models.scheme_search import GROUP_SELECTIONS
from inference.runs.stages import BOTTLENECK
from inference.storage.characterisations import KEY as EXPLAINED

FACTS_SHOWN = 8
"""Of those known of schemes beforehand: a table of µop counts has thousands."""

PLANS = {
    "singletons": "every scheme alone",
    "pairs": "alone and in pairs",
    "mixes": "random mixes",
    "slots": "alone, and among moves that count slots",
    "listed": "listed one by one",
}


@dataclass(frozen=True)
class Link:
    """A row that the run refers to."""

    text: str
    url: str


@dataclass(frozen=True)
class Item:
    """One line: a label with a text or links.

    `changed` marks a setting that is not the default, `usual` one that is, which few want to see.
    """

    label: str
    text: str = ""
    links: tuple[Link, ...] = ()
    changed: bool = False
    usual: bool = False


_OTHERS: dict[str, Callable[[Run], Iterator[Item]]] = {}


def register(kind: str, words: Callable[[Run], Iterator[Item]]) -> None:
    """Put the descriptions of another app's runs into words; it does so when its pages are loaded."""
    _OTHERS[kind] = words


def asked_of(run: Run) -> list[Item]:
    """What was asked of a run, whatever its kind."""
    kinds = {"infer": _infer, "measure": _measure, "block": _block, "check-model": _check, **_OTHERS}
    items = list(kinds.get(run.kind, _plain)(run))
    return [item for item in items if item.text or item.links]


def _infer(run: Run) -> Iterator[Item]:
    config = run.config
    offer = OFFERS[config["algorithm"]]
    yield Item("Algorithm", offer.label)
    yield from _source(config["source"])
    yield Item("Instruction set", config["isa"])
    yield Item("Schemes", _schemes(config))
    if config["evaluate"]:
        yield Item("Judged on", links=links(ExperimentSet, "set", [config["evaluate"]]))
    elif "datasets" in config["source"]:
        yield Item("Held out", f"{100 * config['held_out']:g} %")
    if "machine" in config["source"] and not config.get("bottleneck", True):
        yield Item("Bottleneck rate", "not measured", changed=True)
    yield Item("Ports", "searched for" if config["ports"] is None else str(config["ports"]))
    yield from _known(config.get("known", {}))
    yield Item("Seed", str(config["seed"]))
    for setting in offer.tunables():
        if setting.name in config["settings"]:
            value = config["settings"][setting.name]
            text = as_text(value) or (_bottleneck(run) if setting.name == "r_max" else "none")
            changed = value != setting.default
            yield Item(setting.label, text, changed=changed, usual=not changed and setting.name != "r_max")


def _known(known: Json) -> Iterator[Item]:
    """What was known of schemes beforehand."""
    labels = {
        "uops": "µops known",
        "widths": "Ports known",
        "improper": "Improper schemes",
        "documented": "Documented ports",
    }
    for name, label in labels.items():
        facts = known.get(name, {})
        told = [
            f"{scheme}: {_words(facts[scheme])}" if isinstance(facts, dict) else scheme for scheme in facts
        ]
        if len(told) > FACTS_SHOWN:
            told[FACTS_SHOWN:] = [f"and {len(told) - FACTS_SHOWN:,} more"]
        yield Item(label, "; ".join(told), changed=True)


def _bottleneck(run: Run) -> str:
    """Where no R_max was given: whether it is measured, and what was found once there is a mapping."""
    reports = inferred_by(run).values_list("report", flat=True)
    report = reports.first() or {}
    found = report.get("bottleneck") or report.get(EXPLAINED)
    if found:
        return "measured: " + (as_text(found["r_max"]) or "none beside the ports")
    if BOTTLENECK in own_stages(InferConfig(**run.config)) or OFFERS[run.config["algorithm"]].explores:
        return "measured"
    return "as the data show it" if run.config["settings"].get("ceiling") == "data" else "none"


def _measure(run: Run) -> Iterator[Item]:
    config = run.config
    yield Item("Machine", links=links(Machine, "machine", [config["machine"]]))
    yield Item("Instruction set", config["isa"])
    yield Item("Schemes", _schemes(config))
    yield Item("Experiments", PLANS[config["plan"]])
    if config["plan"] == "listed":
        yield Item("Listed", f"{len(config['experiments']):,}, each {config['repeats']:,} times")
    if config["plan"] == "mixes":
        yield Item("Mixes", f"{config['mixes']:,} of {config['length']} instructions")
        yield Item("Seed", str(config["seed"]))


def _check(run: Run) -> Iterator[Item]:
    config = run.config
    yield Item("Machine", links=links(Machine, "machine", [config["machine"]]))
    if config["reference"] is None:
        yield Item("Reference", "none: 1/n cycles of a single µop")
    else:
        yield Item("Reference", links=links(PortMapping, "mapping", [config["reference"]]))
    yield Item("Instruction set", config["isa"])
    yield Item("Schemes", _schemes(config))
    yield Item("Mixes", f"{config['mixes']:,} of each length" if config["mixes"] else "none")
    orders = f"{config['sequences']:,} mixes of each length in up to {config['permutations']} orders"
    yield Item("Orders", orders if config["sequences"] else "none")
    yield Item("Seed", str(config["seed"]))


def _block(run: Run) -> Iterator[Item]:
    config, options = run.config, run.config["options"]
    yield Item("Machine", links=links(Machine, "machine", [config["machine"]]))
    yield Item("Basic blocks", f"{len(config['blocks']):,}")
    yield Item("Copies", f"{options['mode']}, {options['copies'] or 'as many as usual'}")
    yield Item("Registers start with", f"{options['registers']:#x}")
    yield Item("Memory starts with", f"{options['memory']:#x}")
    yield Item("Pages of memory", f"at most {options['pages']:,}")


def _source(source: Json) -> Iterator[Item]:
    if "datasets" in source:
        yield Item("Learns from", links=links(ExperimentSet, "set", source["datasets"]))
    elif "simulate" in source:
        yield Item("Simulated processor", links=links(PortMapping, "mapping", [source["simulate"]]))
        yield Item("Noise", f"{100 * source['noise']:g} %")
        if source.get("noise_cpi"):
            yield Item("Noise per instruction", f"{source['noise_cpi']:g} cycles")
        if source.get("odd_share"):
            yield Item("Misbehaving schemes", f"{100 * source['odd_share']:g} %")
        if source.get("counters", NOTHING) != NOTHING:
            yield Item("Counters", "µops" if source["counters"] == UOPS else "µops of every port")
    else:
        yield Item("Machine", links=links(Machine, "machine", [source["machine"]]))


def _schemes(config: Json) -> str:
    sample = config.get("sample")
    return f"{sample:,} of {_selection(config)}" if sample else _selection(config)


def _selection(config: Json) -> str:
    chosen = config["schemes"]
    if isinstance(chosen, list):
        found = f" found by {config['scheme_filter']}" if config["scheme_filter"] else ""
        return f"{len(chosen):,}{found}"
    return {
        "all": "all that it knows",
        "default": "the default set",
        "starter": "the starter set",
        "probes": "probes of each kind of execution unit",
        **GROUP_SELECTIONS,
    }[chosen]


def _plain(run: Run) -> Iterator[Item]:
    for key, value in run.config.items():
        label = key.replace("_", " ").capitalize()
        if key == "mapping":
            yield Item("Port mapping", links=links(PortMapping, "mapping", [value]))
        elif key == "resource_mapping":
            yield Item("Resource mapping", links=links(ResourceMapping, "resource-mapping", [value]))
        elif key == "experiment_set":
            yield Item("Measurements", links=links(ExperimentSet, "set", [value]))
        else:
            yield Item(label, _words(value))


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def links(model: type[Model], url_name: str, ids: list[int]) -> tuple[Link, ...]:
    """The pages of rows with these ids, in this order."""
    names = dict(model._default_manager.filter(pk__in=ids).values_list("pk", "name"))
    return tuple(
        Link(names[pk], reverse(url_name, args=[pk])) if pk in names else Link("deleted", "#") for pk in ids
    )

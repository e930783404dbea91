"""The inference-specific parts of a run's page: its configuration as text, and the algorithm's part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest

from inference.core.protocols import Json
from inference.features.learning.inferring.algorithm import setting_text
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.request import InferConfig
from inference.features.learning.inferring.subject import own_stages
from inference.features.running.runs.kind_presentation import (
    DescriptionItem,
    format_value,
    links,
    schemes_text,
)
from inference.features.running.runs.query import inferred_by
from inference.features.running.runs.record import RunRecord
from inference.measuring.simulated import NOTHING, UOPS
from inference.models import ExperimentSet, Machine, PortMapping, Run
from inference.runs.stages import BOTTLENECK
from inference.storage.characterisations import KEY as EXPLAINED

FACTS_LISTED = 8
"""Maximum number of facts listed: a table of µop counts has thousands."""


def partial_result(run: Run) -> str:
    """The partial result if an inference is stopped now, as text; "" if it has none."""
    algorithm = ALGORITHMS.get(run.config.get("algorithm", ""))
    if algorithm is None or not algorithm.stopped:
        return ""
    if run.progress.get("phase", "") in ("", *algorithm.before_mapping):
        return "It has no mapping yet: the measurements so far stay, as an experiment set."
    return algorithm.stopped


def infer_lines(run: Run) -> Iterator[DescriptionItem]:
    config = run.config
    algorithm = ALGORITHMS[config["algorithm"]]
    yield DescriptionItem("Algorithm", algorithm.title)
    yield from _source(config["source"])
    yield DescriptionItem("Instruction set", config["isa"])
    yield DescriptionItem("Schemes", schemes_text(config))
    if config["evaluate"]:
        yield DescriptionItem("Judged on", links=links(ExperimentSet, "set", [config["evaluate"]]))
    elif "datasets" in config["source"]:
        yield DescriptionItem("Held out", f"{100 * config['held_out']:g} %")
    if "machine" in config["source"] and not config.get("bottleneck", True):
        yield DescriptionItem("Bottleneck rate", "not measured", changed=True)
    yield DescriptionItem("Ports", "searched for" if config["ports"] is None else str(config["ports"]))
    yield from _fact_lines(config.get("known", {}))
    yield DescriptionItem("Seed", str(config["seed"]))
    for setting in algorithm.tunables():
        if setting.name in config["settings"]:
            value = config["settings"][setting.name]
            text = setting_text(value) or (_bottleneck(run) if setting.name == "r_max" else "none")
            changed = value != setting.default
            yield DescriptionItem(
                setting.label, text, changed=changed, usual=not changed and setting.name != "r_max"
            )


def _fact_lines(known_facts: Json) -> Iterator[DescriptionItem]:
    labels = {
        "uops": "µops known",
        "widths": "Ports known",
        "improper": "Improper schemes",
        "documented": "Documented ports",
    }
    for name, label in labels.items():
        facts = known_facts.get(name, {})
        texts = [
            f"{text}: {format_value(facts[text])}" if isinstance(facts, dict) else text for text in facts
        ]
        if len(texts) > FACTS_LISTED:
            texts[FACTS_LISTED:] = [f"and {len(texts) - FACTS_LISTED:,} more"]
        yield DescriptionItem(label, "; ".join(texts), changed=True)


def _bottleneck(run: Run) -> str:
    """How R_max is found if none was given: whether it is measured, and the result if there is a mapping."""
    reports = inferred_by(run).values_list("report", flat=True)
    report = reports.first() or {}
    bottleneck = report.get("bottleneck") or report.get(EXPLAINED)
    if bottleneck:
        return "measured: " + (setting_text(bottleneck["r_max"]) or "none beside the ports")
    if (
        BOTTLENECK in own_stages(InferConfig.from_stored(run.config))
        or ALGORITHMS[run.config["algorithm"]].explores
    ):
        return "measured"
    return "as the data show it" if run.config["settings"].get("ceiling") == "data" else "none"


def _source(source: Json) -> Iterator[DescriptionItem]:
    if "datasets" in source:
        yield DescriptionItem("Learns from", links=links(ExperimentSet, "set", source["datasets"]))
    elif "simulate" in source:
        yield DescriptionItem(
            "Simulated processor", links=links(PortMapping, "mapping", [source["simulate"]])
        )
        yield DescriptionItem("Noise", f"{100 * source['noise']:g} %")
        if source.get("noise_cpi"):
            yield DescriptionItem("Noise per instruction", f"{source['noise_cpi']:g} cycles")
        if source.get("odd_share"):
            yield DescriptionItem("Misbehaving schemes", f"{100 * source['odd_share']:g} %")
        if source.get("counters", NOTHING) != NOTHING:
            yield DescriptionItem("Counters", "µops" if source["counters"] == UOPS else "µops of every port")
    else:
        yield DescriptionItem("Machine", links=links(Machine, "machine", [source["machine"]]))


def inference(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """Context of the algorithm's part; runs of older versions without an algorithm are PMEvo's."""
    return ALGORITHMS[run.config.get("algorithm", "pmevo")].page(request, run, record)

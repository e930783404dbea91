"""The published Skylake data of PMEvo, read without the product's importers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.conf import settings

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, uops_of

DIRECTORY = settings.SHARED / "data" / "pmevo" / "SKL"
EVALUATION = "exps_eval_small_annotated.json"
TRAINING = tuple(f"varying_length/len_0{length}.json" for length in (1, 2, 3, 4))


@dataclass(frozen=True)
class PublishedExperiments:
    """`cycles` and each tool's `annotations` are float64[len(mixes)]; an annotation is NaN where absent."""

    mixes: list[Experiment]
    cycles: np.ndarray
    annotations: dict[str, np.ndarray]


def published_experiments(*names: str) -> PublishedExperiments:
    rows = [row for name in names for row in _read(name)["exps"]]
    answers = [{other["id"]: other["cycles"] for other in row.get("other_results") or ()} for row in rows]
    tools = sorted({tool for answer in answers for tool in answer})
    return PublishedExperiments(
        mixes=[Experiment.of(row["iseq"]) for row in rows],
        cycles=np.array([row["result"]["cycles"] for row in rows]),
        annotations={tool: np.array([answer.get(tool, np.nan) for answer in answers]) for tool in tools},
    )


def published_mapping(name: str) -> PortMapping:
    data = _read(name)
    ports = tuple(data["arch"]["ports"])
    usage = {
        scheme: uops_of((sum(1 << ports.index(port) for port in set(uop)), 1) for uop in uops)
        for scheme, uops in data["assignment"].items()
    }
    return PortMapping(ports, usage)


def _read(name: str) -> Any:
    return json.loads((DIRECTORY / name).read_text())

"""What an inference run held out: the measurements behind an evaluation that has no set of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from inference.exchange.recorded import held_out_rows
from inference.exchange.streaming import Chunk, usable_chunks
from inference.models import ExperimentSet, InstructionScheme, Measurement, Run

_LOOKED_UP = 2000  # rows per query: the ids of a query are bounded


def held_out_of(run: Run, scheme: InstructionScheme | None = None) -> Iterator[Chunk]:
    """The share of its experiment sets that a run kept from training, drawn anew from its description.

    With a scheme, only the experiments that contain it.

    Nothing once one of the sets has been deleted: the draw from the others would name experiments that the
    run has learnt from.
    """
    config = run.config
    sets = list(ExperimentSet.objects.filter(pk__in=config["source"]["datasets"]))
    if len(sets) < len(config["source"]["datasets"]):
        return
    never = config.get("never_held_out", 0)  # runs of before held out of all experiments
    ids = held_out_rows(sets, config["schemes"], config["held_out"], config["seed"], never)
    for part in np.split(ids, range(_LOOKED_UP, len(ids), _LOOKED_UP)):
        rows = Measurement.objects.filter(pk__in=part.tolist())
        if scheme is not None:
            rows = rows.filter(experiment__terms__scheme=scheme)
        yield from usable_chunks(rows, sets[0].isa)

"""What an inference run held out: the measurements behind an evaluation that has no set of its own."""

from __future__ import annotations

from inference.exchange.recorded import recorded_shares
from inference.exchange.stored import StoredMeasurement
from inference.models import ExperimentSet, Run


def held_out_of(run: Run) -> list[StoredMeasurement]:
    """The share of its experiment sets that a run kept from training, drawn anew from its description.

    Empty once one of the sets has been deleted: the draw from the others would name experiments that the run
    has learnt from.
    """
    config = run.config
    sets = list(ExperimentSet.objects.filter(pk__in=config["source"]["datasets"]))
    if len(sets) < len(config["source"]["datasets"]):
        return []
    return list(recorded_shares(sets, config["schemes"], config["held_out"], config["seed"]).held_out)

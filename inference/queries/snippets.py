"""Experiments as snippets for other tools, with what is known of them here."""

from __future__ import annotations

from inference.core.experiment import Experiment
from inference.exchange.exegesis import write_exegesis
from inference.models import ISA
from inference.queries.answers import measured_row, predictions_for, settled_cycles


def exegesis_snippet(experiment: Experiment, isa: ISA) -> str:
    """For llvm-exegesis; its head tells every set's measurement and every mapping's prediction.

    Raises `ExchangeError` where there is no code for the experiment.
    """
    row = measured_row(experiment, isa)
    measurements = [] if row is None else row.measurements.select_related("experiment_set__machine")
    found = sorted(measurements, key=lambda measurement: measurement.pk)
    known = []
    for measurement in found:
        if measurement.cycles is not None:
            machine = measurement.experiment_set.machine
            where = "" if machine is None else f", {machine.name}"
            told = f"{measurement.cycles:.4g} cycles ({measurement.state})"
            known.append(f"measured: {told} in “{measurement.experiment_set.name}”{where}")
    known += [
        f"predicted: {prediction.cycles:.4g} cycles by “{prediction.mapping.name}”"
        for prediction in predictions_for(experiment, isa, settled_cycles(found))
    ]
    return write_exegesis(isa.name, experiment, known)

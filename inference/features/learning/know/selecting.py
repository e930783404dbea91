"""The one mapping of a run over a whole core: its parts compared on held-out mixes, and put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from inference.core.core_model.model import LoopCode
from inference.core.evaluator import PortMappingModel
from inference.core.experiment import Measured
from inference.core.judging.held_out_checks import held_out_checks
from inference.core.judging.selection import Selection, joined, selected
from inference.core.mapping import PortMapping as MappingValue
from inference.core.metrics import Unit
from inference.core.protocols import Json
from inference.core.tables import Floats
from inference.features.learning.inferring.subject import JUDGING_MIXES
from inference.models import ExperimentSet, Machine, Measurement, PortMapping, Run, StoredCoreModel
from inference.storage.characterisations import copy_characterisations
from inference.storage.core_models import LOOP_CODE, loop_code_in, loop_code_rows
from inference.storage.evaluations import compare, evaluate
from inference.storage.judging import KEY
from inference.storage.names import free_name
from inference.storage.results import ComparedResult, compared_results, store_result
from inference.storage.rows import load_mapping, measurements_of

EARLIER = "earlier core model"
TOGETHER = "all together"
SOURCE = "Know this CPU"
_CHOICE = 2


@dataclass(frozen=True)
class ChosenMapping:
    """The mapping that a core model takes, and why; `selection` is None where there was no choice.

    `make` returns its row, None where there is no mapping; it stores a mapping that is put together.
    """

    make: Callable[[], PortMapping | None]
    selection: Json | None


@dataclass(frozen=True)
class CoreParts:
    """Mappings of a run over a core, {label: row} in the order of its stages, after that of the machine's
    core model of before.

    They are judged by the mixes that the runs of the parts have measured to judge by. Which these are is
    drawn by a seed and stored as a set before the first search begins; whatever a run on this machine has
    measured for anything else is left out, since one of the mappings may have learnt from it.
    """

    run: Run
    machine: Machine
    rows: Mapping[str, PortMapping]

    @cached_property
    def sets(self) -> list[ExperimentSet]:
        """The mixes of the runs of the parts."""
        return list(
            ExperimentSet.objects.filter(run__in=self.run.parts.all(), source=JUDGING_MIXES).order_by("pk")
        )

    @cached_property
    def mixes(self) -> list[Measured]:
        """Those that no mapping has learnt from, each once."""
        of_runs = Measurement.objects.filter(
            experiment_set__machine=self.machine, experiment_set__run__isnull=False
        )
        learnt = of_runs.exclude(experiment_set__source=JUDGING_MIXES)
        rows = Measurement.objects.filter(experiment_set__in=self.sets).exclude(
            experiment__in=learnt.values("experiment")
        )
        usable = {each.value.experiment: each.value for each in measurements_of(rows) if each.value.usable}
        return list(usable.values())

    @cached_property
    def values(self) -> dict[str, MappingValue]:
        """{label: what the mapping says}."""
        return {label: load_mapping(row) for label, row in self.rows.items()}

    @property
    def facts(self) -> Json:
        """What a stored selection says of its parts: {label: id}."""
        return {label: row.pk for label, row in self.rows.items()}

    def chosen(self) -> ChosenMapping:
        """The part that is nearest, or all together where that is nearer."""
        if len(self.rows) < _CHOICE:
            return ChosenMapping(lambda: next(iter(self.rows.values()), None), None)
        measured = np.array([each.cycles for each in self.mixes], dtype=np.float64)
        predicted = {label: self._predicted(value) for label, value in self.values.items()}
        best = selected(measured, predicted)
        whole = self._together(best)
        if whole is None:
            return self._choice(lambda: self.rows[best.name], best)
        again = selected(measured, {best.name: predicted[best.name], TOGETHER: self._predicted(whole)})
        final = replace(again, scores=(*best.scores, again.scores[-1]))
        if again.name == best.name:
            return self._choice(lambda: self.rows[best.name], replace(final, why=best.why))
        compared = compared_results(self.machine, whole)
        return self._choice(partial(self._stored, whole, best.name, compared), final)

    def _choice(self, make: Callable[[], PortMapping], selection: Selection) -> ChosenMapping:
        return ChosenMapping(make, {**selection.as_json(), "parts": self.facts})

    def _predicted(self, value: MappingValue) -> Floats:
        found = np.full(len(self.mixes), np.nan)
        compared = compare(PortMappingModel(value), self.mixes, Unit.CYCLES)
        found[compared.kept] = compared.predicted
        return found

    def _together(self, best: Selection) -> MappingValue | None:
        """The best part with the schemes of the others, the nearest first; None where it has them all."""
        losses = {score.name: score.loss for score in best.scores}
        others = sorted((label for label in self.rows if label != best.name), key=losses.__getitem__)
        base = self.values[best.name]
        if all(self.values[label].usage.keys() <= base.usage.keys() for label in others):
            return None
        names = self.values[self._with_witnesses or best.name]
        return joined(names, base, [self.values[label] for label in others])

    @cached_property
    def _with_witnesses(self) -> str | None:
        """The part whose verdicts refer to its ports: all together go by its port names."""
        return next((label for label, row in self.rows.items() if row.characterisations.exists()), None)

    def _stored(self, value: MappingValue, base: str, compared: Sequence[ComparedResult]) -> PortMapping:
        row = store_result(
            free_name(PortMapping, self.run.name),
            self.machine.isa,
            value,
            compared,
            source=SOURCE,
            machine=self.machine,
            report={
                KEY: held_out_checks(self.mixes, self._predicted(value)).as_json(),
                LOOP_CODE: loop_code_rows(self._loop_code(base)),
            },
            note=f"Put together by {self.run.name}: µops of {base}, and of schemes that it does not describe "
            "those of its other parts.",
        )
        if self._with_witnesses is not None:
            source = self._with_witnesses
            told = {scheme for scheme in value.usage if not self._is_from(source, scheme, value)}
            copy_characterisations(self.rows[source], row, told)
        for one in self.sets:
            evaluate(row, one)
        return row

    def _loop_code(self, base: str) -> LoopCode:
        """Of all parts; of sizes that several saw, what the `base` says."""
        labels = sorted(self.rows, key=lambda label: label == base)
        return {
            size: cycles for label in labels for size, cycles in loop_code_in(self.rows[label].report).items()
        }

    def _is_from(self, label: str, scheme: str, value: MappingValue) -> bool:
        return self.values[label].usage.get(scheme) == value.usage[scheme]


def core_parts(run: Run, machine: Machine, stages: Sequence[tuple[str, Run]]) -> CoreParts:
    """The mappings of the `stages`, (label, run of the part) each, and that of the core model of before."""
    rows: dict[str, PortMapping] = {}
    earlier = (
        StoredCoreModel.objects.filter(machine=machine, mapping__isnull=False, run__isnull=False)
        .exclude(run=run)
        .select_related("mapping")
        .order_by("-pk")
        .first()
    )
    if earlier is not None and earlier.mapping is not None:
        rows[EARLIER] = earlier.mapping
    for label, part in stages:
        row = PortMapping.objects.filter(run=part).order_by("pk").last()
        if row is not None:
            rows[label] = row
    return CoreParts(run, machine, rows)


def chosen_mapping(run: Run, machine: Machine, stages: Sequence[tuple[str, Run]]) -> ChosenMapping:
    """The mapping for the core model of a run; what was chosen before among the same parts stays."""
    parts = core_parts(run, machine, stages)
    model = StoredCoreModel.objects.filter(run=run).select_related("mapping").first()
    if model is not None and model.selection is not None and model.selection["parts"] == parts.facts:
        return ChosenMapping(partial(getattr, model, "mapping"), model.selection)
    return parts.chosen()

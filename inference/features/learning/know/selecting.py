"""Selection of a profile's port mapping: parts are compared on held-out mixes, and joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from inference.core.core_model.model import LoopCode
from inference.core.evaluator import PortMappingModel
from inference.core.experiment import Measured, Unit
from inference.core.judging.held_out_checks import held_out_checks
from inference.core.judging.selection import Selection, merge, select_part
from inference.core.mapping import PortMapping as MappingValue
from inference.core.protocols import Json
from inference.core.tables import Floats
from inference.features.learning.inferring.subject import JUDGING_MIXES
from inference.models import ExperimentSet, Machine, Measurement, PortMapping, Run, StoredCoreModel
from inference.storage.characterisations import copy_characterisations
from inference.storage.core_models import LOOP_CODE, loop_code_in, loop_code_rows
from inference.storage.evaluations import compare, evaluate
from inference.storage.judging import KEY
from inference.storage.mappings import load_mapping
from inference.storage.names import free_name, result_name
from inference.storage.results import ComparedResult, compared_results, store_result
from inference.storage.rows import measurements_of

EARLIER = "earlier core model"
TOGETHER = "all together"
SOURCE = "Profile this CPU"
_MIN_CANDIDATES = 2


@dataclass(frozen=True)
class MappingChoice:
    """The mapping for a core model, and why; `selection` is None if there was no choice.

    `make` returns its row, None without a mapping; for a joined mapping, it stores the row first.
    """

    make: Callable[[], PortMapping | None]
    selection: Json | None


@dataclass(frozen=True)
class CoreParts:
    """Candidate mappings of a profile, {label: row}: of the machine's earlier core model, then of the stages
    in order.

    They are judged on mixes that the parts' runs measure for judging only. A seed chooses these mixes before
    the first search begins. Experiments that any run on this machine has measured for another purpose are
    excluded, because a mapping may have been trained on them. `reused`: runs that took the place of parts.
    """

    run: Run
    machine: Machine
    rows: Mapping[str, PortMapping]
    reused: Sequence[Run] = ()

    @cached_property
    def sets(self) -> list[ExperimentSet]:
        """The sets of mixes that the parts measured for judging."""
        return list(
            ExperimentSet.objects.filter(
                run__in=[*self.run.parts.all(), *self.reused], source=JUDGING_MIXES
            ).order_by("pk")
        )

    @cached_property
    def mixes(self) -> list[Measured]:
        """The mixes that no mapping was trained on, without repetitions."""
        measured_by_runs = Measurement.objects.filter(
            experiment_set__machine=self.machine, experiment_set__run__isnull=False
        )
        training = measured_by_runs.exclude(experiment_set__source=JUDGING_MIXES)
        rows = Measurement.objects.filter(experiment_set__in=self.sets).exclude(
            experiment__in=training.values("experiment")
        )
        usable = {row.value.experiment: row.value for row in measurements_of(rows) if row.value.usable}
        return list(usable.values())

    @cached_property
    def values(self) -> dict[str, MappingValue]:
        return {label: load_mapping(row) for label, row in self.rows.items()}

    @property
    def facts(self) -> Json:
        """{label: id} of the candidates, as stored with the selection."""
        return {label: row.pk for label, row in self.rows.items()}

    def choose(self) -> MappingChoice:
        """The most accurate part, or all parts joined if that is more accurate."""
        if len(self.rows) < _MIN_CANDIDATES:
            return MappingChoice(lambda: next(iter(self.rows.values()), None), None)
        measured = np.array([mix.cycles for mix in self.mixes], dtype=np.float64)
        predicted = {label: self._predict(value) for label, value in self.values.items()}
        best = select_part(measured, predicted)
        joined = self._join_parts(best)
        if joined is None:
            return self._choice(lambda: self.rows[best.name], best)
        decision = select_part(measured, {best.name: predicted[best.name], TOGETHER: self._predict(joined)})
        final = replace(decision, scores=(*best.scores, decision.scores[-1]))
        if decision.name == best.name:
            return self._choice(lambda: self.rows[best.name], replace(final, why=best.why))
        results = compared_results(self.machine, joined)
        return self._choice(partial(self._store, joined, best.name, results), final)

    def _choice(self, make: Callable[[], PortMapping], selection: Selection) -> MappingChoice:
        return MappingChoice(make, {**selection.as_json(), "parts": self.facts})

    def _predict(self, value: MappingValue) -> Floats:
        cycles = np.full(len(self.mixes), np.nan)
        compared = compare(PortMappingModel(value), self.mixes, Unit.CYCLES)
        cycles[compared.ids] = compared.predicted
        return cycles

    def _join_parts(self, best: Selection) -> MappingValue | None:
        """The best part extended by schemes of the others, more accurate ones first; None if they have no
        other schemes.
        """
        losses = {score.name: score.loss for score in best.scores}
        other_labels = sorted((label for label in self.rows if label != best.name), key=losses.__getitem__)
        base = self.values[best.name]
        if all(self.values[label].usage.keys() <= base.usage.keys() for label in other_labels):
            return None
        names = self.values[self._with_witnesses or best.name]
        return merge(names, base, [self.values[label] for label in other_labels])

    @cached_property
    def _with_witnesses(self) -> str | None:
        """The part with the most characterisations, the newest of equal ones; None without any.

        A joined mapping uses its port names, to which the witnesses refer.
        """
        # The earlier core model comes first, and may have characterised a few schemes of a smaller selection.
        counts = {label: row.characterisations.count() for label, row in reversed([*self.rows.items()])}
        label = max(counts, key=counts.__getitem__, default=None)
        return label if label is not None and counts[label] else None

    def _store(self, value: MappingValue, base: str, results: Sequence[ComparedResult]) -> PortMapping:
        row = store_result(
            free_name(PortMapping, result_name(self.run.name, "joined mapping")),
            self.machine.isa,
            value,
            results,
            source=SOURCE,
            machine=self.machine,
            report={
                KEY: held_out_checks(self.mixes, self._predict(value)).as_json(),
                LOOP_CODE: loop_code_rows(self._loop_code(base)),
            },
            note=f"Joined by {self.run.name}: µops of {base}; schemes that it does not describe have the "
            "µops of other parts.",
        )
        if self._with_witnesses is not None:
            source = self._with_witnesses
            foreign_schemes = {scheme for scheme in value.usage if not self._is_from(source, scheme, value)}
            copy_characterisations(self.rows[source], row, foreign_schemes)
        for mixes in self.sets:
            evaluate(row, mixes)
        return row

    def _loop_code(self, base: str) -> LoopCode:
        """Loop code of all parts; where several have a size, that of `base`."""
        labels = sorted(self.rows, key=lambda label: label == base)
        return {
            size: cycles for label in labels for size, cycles in loop_code_in(self.rows[label].report).items()
        }

    def _is_from(self, label: str, scheme: str, value: MappingValue) -> bool:
        return self.values[label].usage.get(scheme) == value.usage[scheme]


def core_parts(run: Run, machine: Machine, stages: Sequence[tuple[str, Run]]) -> CoreParts:
    """The candidates: mappings of the `stages` (label, run), and the mapping of the machine's earlier core
    model.
    """
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
    return CoreParts(run, machine, rows, [part for _, part in stages if part.part_of_id != run.pk])


def choose_mapping(run: Run, machine: Machine, stages: Sequence[tuple[str, Run]]) -> MappingChoice:
    """The mapping for a run's core model; an earlier choice among the same candidates is kept."""
    parts = core_parts(run, machine, stages)
    model = StoredCoreModel.objects.filter(run=run).select_related("mapping").first()
    if model is not None and model.selection is not None and model.selection["parts"] == parts.facts:
        return MappingChoice(partial(getattr, model, "mapping"), model.selection)
    return parts.choose()

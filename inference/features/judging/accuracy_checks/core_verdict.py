"""How good a core model is: by blocks measured on its machine, else by the held-out mixes of its mapping."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from inference.core.judging.accuracy import (
    AccuracyFigures,
    AccuracyJudgement,
    RepeatSpread,
    accuracy_judgement,
)
from inference.core.judging.agreement import Agreement
from inference.core.metrics import Scores
from inference.features.judging.accuracy_checks.request import KIND, MIN_BLOCKS
from inference.features.judging.engine.addresses import comparison_address
from inference.features.judging.engine.query import FULL_COMPARISON, columns_of, verdict_of
from inference.features.library.gallery.query import recorded_core
from inference.measuring.blocks import LOOP
from inference.models import (
    BasicBlockSet,
    Comparison,
    PortMapping,
    Run,
    StoredCoreModel,
)
from inference.runs.estimates import estimate
from inference.runs.machines.facts import obstacle_to_measuring, unsupported_runs
from inference.storage.judging import columns_of_core_model, grounds_of
from inference.web.contributions import Context
from inference.web.listed_mappings import best_score

CHECKED_BLOCKS = 200
"""Blocks of the check that the button starts: some minutes."""
_LATEST = 10
"""Comparisons that are searched for one that judges the model."""
_MAX_SETS = 20
_ON_MIXES = "for independent instructions"


@dataclass(frozen=True)
class CoreVerdict:
    """How good a core model is.

    Args:
        grade: "good", "usable", "doubtful" or "wrong".
        on: The measurements that it is judged by.
        reasons: The size of the errors, and what they are compared with.
        address: The page with the errors one by one; "" without one.
        at: When they were computed; None where that is not recorded.
        on_code: Whether it is judged by real code, with dependences and memory.
    """

    grade: str
    on: str
    reasons: tuple[str, ...]
    address: str = ""
    at: datetime | None = None
    on_code: bool = False

    @property
    def text(self) -> str:
        """ "on 467 blocks of gcc: off by 5.4 % on average; measuring once more …"."""
        reasons = "; ".join(self.reasons)
        return f"{self.on}: {reasons}." if self.on else f"{reasons}."


def core_verdicts(row: StoredCoreModel) -> list[CoreVerdict]:
    """The verdicts on a core model of site or gallery, the newest first; [] where nothing judges it.

    On code there is one for each mode, else one for mixes.
    """
    if row._state.adding or row.document is not None:
        core = recorded_core(row.name)
        return [] if core is None else [CoreVerdict(core.grade, "", (core.accuracy,), on_code=True)]
    by_mixes = None if (by_blocks := list(_by_blocks(row))) else _by_mixes(row)
    return by_blocks if by_mixes is None else [by_mixes]


def core_verdict(row: StoredCoreModel) -> CoreVerdict | None:
    return next(iter(core_verdicts(row)), None)


def _by_blocks(row: StoredCoreModel) -> Iterator[CoreVerdict]:
    """By the newest comparison in each mode with blocks that a machine measured more than once."""
    newest = (
        columns_of_core_model(row)
        .select_related("comparison__run")
        .defer("answers", "pictures", "comparison__points", "comparison__table")
    )
    modes = set()
    for column in newest.order_by("-comparison_id", "position")[:_LATEST]:
        comparison = column.comparison
        mode = comparison.run.config.get("mode", "")
        siblings = columns_of(comparison)
        if mode in modes or not any(sibling.summary.get("repeats") for sibling in siblings):
            continue
        judgement = verdict_of(siblings, column, FULL_COMPARISON)
        if isinstance(judgement, AccuracyJudgement):  # and not of measurements of another core
            modes.add(mode)
            address = comparison_address(comparison.run_id)
            on = f"on {'loops' if mode == LOOP else 'straight code'} of {_source(comparison)}"
            yield CoreVerdict(judgement.grade, on, judgement.reasons, address, comparison.made, on_code=True)


def _source(comparison: Comparison) -> str:
    """What the blocks are of: the measured set is a copy of another one."""
    sets = BasicBlockSet.objects.filter(pk=comparison.run.config.get("block_set"))
    return sets.values_list("name", flat=True).first() or comparison.source


def _by_mixes(row: StoredCoreModel) -> CoreVerdict | None:
    """By mixes of independent instructions that the search of its ports did not use, else by any measurements
    of its mapping.
    """
    if row.mapping is None:
        return None
    checks = grounds_of(row.mapping, ()).checks
    if checks is None or checks.overall.error is None:
        return _by_evaluation(row.mapping)
    overall = checks.overall
    mixes = max((row.selection or {}).get("mixes", 0), overall.n)
    figures = AccuracyFigures(
        Agreement(Scores(overall.n, overall.error, None, None)),
        overall.n / mixes,
        None if overall.repeats is None else RepeatSpread(overall.n, 0, overall.repeats, None),
        suits_tools=False,
    )
    judgement = accuracy_judgement(figures, "held-out mixes")
    address = f"{reverse('mapping', args=[row.mapping.pk])}?tab=accuracy"
    return CoreVerdict(judgement.grade, _ON_MIXES, judgement.reasons, address, row.mapping.created)


def _by_evaluation(mapping: PortMapping) -> CoreVerdict | None:
    best = best_score(mapping)
    if best is None or best.evaluation is None or best.judgement is None or best.judgement.grade is None:
        return None
    reasons = tuple(best.judgement.reasons)
    return CoreVerdict(best.judgement.grade, _ON_MIXES, reasons, best.url, best.evaluation.computed)


class PredictorVerdict(NamedTuple):
    name: str
    grade: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class JudgedPredictors:
    """How good predictors are, by an accuracy check.

    Args:
        on: "loops of libcairo".
        machine: The name of the measurements that they are compared with.
        blocks: Number of measured blocks.
        address: The page of the comparison.
        at: When the measurements were compared.
        verdicts: Verdicts of each predictor that answered.
    """

    on: str
    machine: str
    blocks: int
    address: str
    at: datetime
    verdicts: tuple[PredictorVerdict, ...]


def judged_predictors() -> list[JudgedPredictors]:
    """By the newest accuracy check in each mode on each machine; the newest first."""
    newest = Comparison.objects.filter(run__kind=KIND).select_related("run").defer("points", "table")
    judged: dict[tuple[str, str], JudgedPredictors] = {}
    for comparison in newest.order_by("-pk")[:_LATEST]:
        mode, machine = comparison.run.config.get("mode", ""), comparison.reference
        if (mode, machine) not in judged:
            columns = columns_of(comparison)
            judged_columns = [
                (column, verdict_of(columns, column, FULL_COMPARISON)) for column in columns[1:]
            ]
            verdicts = [
                PredictorVerdict(column.name, judgement.grade, judgement.reasons)
                for column, judgement in judged_columns
                if isinstance(judgement, AccuracyJudgement)
            ]
            on = f"{'loops' if mode == LOOP else 'straight code'} of {_source(comparison)}"
            address = comparison_address(comparison.run_id)
            judged[mode, machine] = JudgedPredictors(
                on, machine, comparison.n, address, comparison.made, tuple(verdicts)
            )
    return list(judged.values())


def verdict_context(_request: HttpRequest, row: StoredCoreModel) -> Context:
    verdicts = core_verdicts(row)
    return {"verdict": next(iter(verdicts), None), "others": verdicts[1:], "core_model": row, **_check(row)}


def _check(row: StoredCoreModel) -> Context:
    """What the button needs that checks the model on measured blocks; {} where that is impossible."""
    machine = row.machine
    if machine is None or "block" in unsupported_runs(machine):
        return {}
    sets = BasicBlockSet.objects.filter(isa=row.isa_id, size__gte=MIN_BLOCKS)
    candidates = sets.exclude(origin=BasicBlockSet.Origin.RUN) or sets
    expected = estimate(KIND, {"machine": machine.pk, "blocks": CHECKED_BLOCKS}).time.total
    pending = Run.objects.filter(kind=KIND, config__machine=machine.pk).exclude(state__in=Run.FINAL)
    return {
        "machine": machine,
        "block_sets": list(candidates.order_by("-pk").values_list("pk", "name", "size")[:_MAX_SETS]),
        "seconds": None if expected is None else expected.likely,
        "blocks": CHECKED_BLOCKS,
        "obstacle": obstacle_to_measuring(machine),
        "pending": pending.first(),
    }

"""Builds the values of a published campaign: discoveries, generalisations, decisions, sampled blocks."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anica_app.core.block_domain import generality_of
from anica_app.core.domain.documents import expanded_document
from anica_app.core.search.interestingness import InterestJudge
from anica_app.formats.anica_abstract import NotTranslatable, abstract_document, expansion_document
from anica_app.formats.anica_documents import Published, PublishedStep, PublishedTrace, ReportedGeneralisation
from anica_app.formats.anica_measurements import Measurements, Series
from anica_app.formats.campaign_values import (
    BatchValue,
    Became,
    DiscoveryValue,
    GeneralisationValue,
    Purpose,
    SpooledCampaign,
    StepValue,
)
from anica_app.formats.value_documents import Spooled
from inference.core.protocols import Json
from inference.predictors.samples import Sample, pack

ACCEPTED_UNSAMPLED = "taken without sampling"

OnProgress = Callable[[int, int], None]
"""Called with (blocks read, all blocks); raises in order to stop."""

_ORDER = re.compile(r".*_g([0-9]{1,4})")


@dataclass
class _EvaluatedBatch:
    """A packed batch of n blocks.

    Attributes:
        interesting, mean: By the campaign's judge, None without one.
    """

    packed: bytes
    n: int
    interesting: int | None
    mean: float | None


@dataclass
class CampaignBuilder:
    """Fills the values of one campaign. `steps_by_series`: {series: steps that are based on it}."""

    rows: SpooledCampaign
    published: Published
    judge: InterestJudge | None
    on_progress: OnProgress | None
    steps_by_series: dict[int, list[StepValue]] = field(default_factory=lambda: defaultdict(list))
    untranslated: dict[str, str] = field(default_factory=dict)
    packed: dict[int, Spooled] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)
    failures: Counter[str] = field(default_factory=Counter)

    def build(self, measurements: Measurements, predictors: Sequence[str]) -> None:
        """Fill all values except the campaign's own and the files."""
        sizes = measurements.sizes()
        total, read = sum(sizes.values()), 0
        self._discoveries()
        self._generalisations()
        steps = self._steps(self._starts(sizes))
        purposes = self._purposes(sizes)
        for series in measurements.series(predictors):
            evaluated = self._evaluate(series.samples)
            self.means[series.number] = math.nan if evaluated.mean is None else evaluated.mean
            resting = self.steps_by_series.get(series.number, ())
            for step in resting:
                _fill(step, evaluated)
            packed = self.rows.spool.keep(evaluated.packed, evaluated.n)
            if resting:
                self.packed[series.number] = packed
            else:
                self.rows.batches.append(self._batch(series, evaluated, packed, purposes))
            read += len(series.samples)
            if self.on_progress is not None:
                self.on_progress(read, total)
        self._finish(steps, measurements, sizes)

    def _discoveries(self) -> None:
        numbers = self._numbers()
        for label, discovery in self.published.discoveries.items():
            rating = self.published.ratings.get(label)
            abstract = self._abstract(label, discovery.abstract)
            self.rows.discoveries.append(
                DiscoveryValue(
                    number=numbers[label],
                    label=label,
                    abstract=abstract,
                    generality=generality_of(abstract),
                    foreign=discovery.abstract,
                    length=discovery.length,
                    interestingness=None if rating is None else rating.mean,
                    remarks=discovery.remarks,
                    facts={} if discovery.result_ref is None else {"result_ref": discovery.result_ref},
                    subsumed_by=None if rating is None else numbers.get(rating.subsumed_by or ""),
                )
            )

    def _numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.published.discoveries)}

    def _abstract(self, label: str, theirs: Json) -> Json | None:
        try:
            return abstract_document(theirs)
        except NotTranslatable as error:
            self.untranslated.setdefault(label, str(error)[:200])
            return None

    def _generalisations(self) -> None:
        """Add generalisations with a trace, and those that are only in the report."""
        numbers, report = self._numbers(), self.published.report
        for number, label in enumerate(sorted({*self.published.traces, *report.generalisations, *numbers})):
            trace = self.published.traces.get(label)
            result = self.published.discoveries[label].abstract if label in numbers else None
            absorbed = report.absorbed.get(label, "")
            reported = report.generalisations.get(label, ReportedGeneralisation())
            order = _ORDER.fullmatch(label)
            self.rows.generalisations.append(
                GeneralisationValue(
                    number=number,
                    label=label,
                    order=int(order[1]) if order else 0,
                    became=_became(label in numbers, absorbed, reported.repeats),
                    start=self._abstract(label, trace.start) if trace else None,
                    result=self._abstract(label, result) if result else None,
                    foreign={"start": trace.start} if trace else None,
                    steps_count=sum(step.expansion is not None for step in trace.steps) if trace else 0,
                    taken_count=sum(step.taken for step in trace.steps) if trace else 0,
                    seconds=reported.seconds,
                    facts={"steps": reported.steps} if reported.label and not trace else {},
                    discovery=numbers.get(label, numbers.get(absorbed)),
                )
            )

    def _starts(self, sizes: Mapping[int, int]) -> dict[str, int]:
        """{label: series of the check of the start}: the series before the first of its steps.

        The files do not refer to it; it is recognised by its position and its size.
        """
        traces = self.published.traces
        used = {step.series for trace in traces.values() for step in trace.steps if step.series is not None}
        size = _setting(self.published.config, "discovery", "generalization_batch_size")
        starts = {}
        for label, trace in traces.items():
            series = [step.series for step in trace.steps if step.series is not None]
            before = min(series) - 1 if series else -1
            if before in sizes and before not in used and sizes[before] == (size or sizes[before]):
                starts[label] = before
        return starts

    def _steps(self, starts: Mapping[str, int]) -> dict[int, list[StepValue]]:
        steps = {}
        for row in self.rows.generalisations:
            trace = self.published.traces.get(row.label)
            if trace is None:
                continue
            first = StepValue(number=0, kind="start", taken=True, batch=starts.get(row.label))
            steps[row.number] = [first, *self._trace(row, trace)]
            for step in steps[row.number]:
                if step.batch is not None:
                    self.steps_by_series[step.batch].append(step)
        return steps

    def _trace(self, row: GeneralisationValue, trace: PublishedTrace) -> list[StepValue]:
        """The steps of a generalisation, with our expansions while the published ones can be followed."""
        current: Json | None = row.start
        rows = []
        for number, step in enumerate(trace.steps, start=1):
            ours = self._expansion(row.label, trace, step, current)
            if current is not None and step.taken and step.expansion is not None:
                current = None if ours is None else expanded_document(current, ours)
            rows.append(
                StepValue(
                    number=number,
                    kind="end" if step.expansion is None else "expansion",
                    expansion=ours,
                    foreign=step.expansion,
                    taken=step.taken,
                    reason=step.comment or (ACCEPTED_UNSAMPLED if step.taken and step.series is None else ""),
                    batch=step.series,
                )
            )
        return rows

    def _expansion(
        self, label: str, trace: PublishedTrace, step: PublishedStep, current: Json | None
    ) -> Json | None:
        if step.expansion is None:
            return None
        try:
            return expansion_document(step.expansion, trace.start, current)
        except NotTranslatable as error:
            self.untranslated.setdefault(label, str(error)[:200])
            return None

    def _purposes(self, sizes: Mapping[int, int]) -> dict[int, tuple[Purpose, Json]]:
        """{series: (purpose, facts)} of series without a step, as far as sizes and report tell."""
        unused = [number for number in sizes if number not in self.steps_by_series]
        size = _setting(self.published.config, "discovery", "discovery_batch_size")
        batches = self.published.report.batches
        purposes: dict[int, tuple[Purpose, Json]] = {
            number: ("minimisation", {}) for number in unused if sizes[number] == 1
        }
        rounds = [number for number in unused if sizes[number] == size]
        if len(rounds) == len(batches) and all(
            batch.get("num_sampled") == sizes[number] for number, batch in zip(rounds, batches, strict=True)
        ):
            purposes |= {
                number: ("round", _times(batch)) for number, batch in zip(rounds, batches, strict=True)
            }
        return purposes

    def _batch(
        self,
        series: Series,
        evaluated: _EvaluatedBatch,
        packed: Spooled,
        purposes: Mapping[int, tuple[Purpose, Json]],
    ) -> BatchValue:
        purpose, facts = purposes.get(series.number, ("other", {}))
        return BatchValue(
            number=series.number,
            purpose=purpose,
            n=evaluated.n,
            interesting=evaluated.interesting,
            facts={**facts, "computer": series.computer[:200], "at": series.at},
            samples=packed,
        )

    def _evaluate(self, samples: Sequence[Sample]) -> _EvaluatedBatch:
        for sample in samples:
            for place, answer in enumerate(sample.answers, start=1):
                if answer.failure is not None:
                    self.failures[f"{answer.failure} of {place}"] += 1
        packed = pack(samples)
        if self.judge is None:
            return _EvaluatedBatch(packed, len(samples), None, None)
        verdicts = [self.judge.verdict(sample.answers) for sample in samples]
        mean = sum(verdict.value for verdict in verdicts) / len(verdicts) if verdicts else None
        return _EvaluatedBatch(packed, len(samples), sum(verdict.interesting for verdict in verdicts), mean)

    def _finish(
        self,
        steps: Mapping[int, Sequence[StepValue]],
        measurements: Measurements,
        sizes: Mapping[int, int],
    ) -> None:
        """Fill what depends on all series."""
        for row, published in zip(self.rows.discoveries, self.published.discoveries.values(), strict=True):
            mean = self.means.get(-1 if published.result_ref is None else published.result_ref, math.nan)
            if row.interestingness is None and not math.isnan(mean):
                row.interestingness = mean
        for tree in self.rows.generalisations:
            tree.steps = list(steps.get(tree.number, ()))
            tree.samples_count = sum(step.n for step in tree.steps)
            for step in tree.steps:  # several can rest on one series
                step.samples = None if step.batch is None else self.packed.get(step.batch)
        series, blocks, answers = measurements.counts()
        missing = sorted(number for number in self.steps_by_series if number not in sizes)
        self.rows.campaign.facts |= {
            "counts": {"series": series, "blocks": blocks, "answers": answers},
            **({"failures": dict(self.failures)} if self.failures else {}),
            **({"unsayable": self.untranslated} if self.untranslated else {}),
            **({"missing_series": missing} if missing else {}),
        }


def _fill(step: StepValue, evaluated: _EvaluatedBatch) -> None:
    step.n, step.interesting, step.mean = evaluated.n, evaluated.interesting, evaluated.mean
    if not step.reason and step.interesting is not None:
        step.reason = _reason(step)


def _reason(step: StepValue) -> str:
    if step.interesting == step.n:
        return f"all {step.n} blocks are interesting"
    return f"{step.n - (step.interesting or 0)} of {step.n} blocks are not interesting"


def _became(discovered: bool, absorbed: str, repeats: bool) -> Became:
    if discovered:
        return "discovery"
    if absorbed:
        return "subsumed"
    return "duplicate" if repeats else "unfinished"


def _times(batch: Json) -> Json:
    return {key: value for key, value in batch.items() if isinstance(value, (int, float))}


def _setting(config: Json, *path: str) -> Any:
    value: Any = config.get("abstraction_config")
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value

"""What an evolution, and explainable inference, have told so far, folded from a run's journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from inference.core.events import Event, Log
from inference.core.explain import REASONS, BlockingClass, NotCharacterised, SchemeFate
from inference.core.explain.events import Blocked, BottleneckFound, Excluded, Funnel, Verdicts
from inference.core.pmevo.events import Cloud, Congruence, FrontImproved, FrontObjectives, Generation, Sweep
from inference.features.learning.inferring.search_record import SearchRecord
from inference.features.running.runs.record import RunRecord, thinned
from inference.runs.record_parts import RecordPart

CURVE_POINTS = 800

Step = TypeVar("Step")


@dataclass
class EvolutionRecord(RecordPart):
    """Generations, populations, the sweeps of the re-fit, the front so far, and what filtering found.

    See `inference.core.pmevo.events`.
    """

    generations: list[Generation] = field(default_factory=list)
    clouds: list[Cloud] = field(default_factory=list)
    sweeps: list[Sweep] = field(default_factory=list)
    front: Sequence[FrontObjectives] = ()
    congruence: Congruence = field(default_factory=lambda: Congruence(schemes=0, classes=0))

    @property
    def last_generation(self) -> Generation | None:
        """The newest point of the fitness curve."""
        return self.generations[-1] if self.generations else None

    def curve(self) -> list[Generation]:
        """At most `CURVE_POINTS` generations, evenly chosen, the first and the last among them."""
        return thinned(self.generations, CURVE_POINTS)

    @property
    def best_sweep(self) -> Sweep | None:
        """The newest sweep of the independent re-fit that is best off so far."""
        newest = {sweep.start: sweep for sweep in self.sweeps}
        return min(newest.values(), key=lambda sweep: sweep.error, default=None)

    def take(self, event: Event) -> None:
        match event:
            case Generation():
                append_again(self.generations, event, lambda point: point.generation)
            case Cloud():
                append_again(self.clouds, event, lambda cloud: cloud.generation)
            case Sweep(start=start, sweep=number):
                self.sweeps = [sweep for sweep in self.sweeps if sweep.start != start or sweep.sweep < number]
                self.sweeps.append(event)
            case FrontImproved():
                self.front = event.points
            case Congruence():
                self.congruence = event

    def log_line(self, event: Event) -> str:
        if not isinstance(event, Congruence):
            return ""
        return f"{event.schemes} schemes in {event.classes} classes of equal behaviour"


def append_again(steps: list[Step], step: Step, number: Callable[[Step], int]) -> None:
    """Append; a run that is taken up from a checkpoint tells its last steps again."""
    while steps and number(steps[-1]) >= number(step):
        steps.pop()
    steps.append(step)


FIRST, LAST = "alone", "remaining"
"""The stages in which schemes are first, and last, left out."""

OPEN = "open"
"""Where other schemes have an outcome: the runs so far disagree, and another one will say."""


@dataclass(frozen=True)
class SchemeOutcome:
    """What became of a scheme, and in which stage; `text` is the reason with its numbers, or its µops."""

    scheme: str
    stage: str
    outcome: str
    reason: str = ""
    text: str = ""


@dataclass
class ExplainRecord(RecordPart):
    """Everything told of the stages, see `inference.core.explain.events`; warnings come as `log`.

    `left`: schemes left after a stage; `excluded` and `verdicts`: {scheme: …}, the latter by run; `ports` are
    those of the masks in `classes`; `bottleneck` is None before R_max is known.
    """

    left: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, SchemeOutcome] = field(default_factory=dict)
    verdicts: dict[str, dict[int, SchemeOutcome]] = field(default_factory=dict)
    classes: Sequence[BlockingClass] = ()
    ports: tuple[str, ...] = ()
    bottleneck: BottleneckFound | None = None
    warnings: dict[str, None] = field(default_factory=dict)

    @property
    def asked(self) -> int | None:
        """Schemes asked for; None while the first stage goes on."""
        if FIRST not in self.left:
            return None
        return self.left[FIRST] + sum(told.stage == FIRST for told in self.excluded.values())

    def take(self, event: Event) -> None:
        """Fold one event in; what an attempt tells again changes nothing."""
        match event:
            case Funnel():
                self.left[event.stage] = event.left
            case Excluded(stage=stage):
                for scheme, reason, text in event.schemes:
                    self.excluded[scheme] = SchemeOutcome(scheme, stage, SchemeFate.EXCLUDED, reason, text)
            case BottleneckFound():
                self.bottleneck = event
            case Blocked():
                self.classes, self.ports = event.classes, tuple(event.ports)
            case Verdicts(run=run):
                for scheme, said, text in event.schemes:
                    done = said == SchemeFate.CHARACTERISED
                    outcome, reason = (said, "") if done else (SchemeFate.EXCLUDED, said)
                    verdict = SchemeOutcome(scheme, LAST, outcome, reason, text)
                    self.verdicts.setdefault(scheme, {})[run] = verdict
            case Log(level="warning"):
                self.warnings[event.text] = None

    def told(self, runs: int, *, over: bool) -> Iterator[SchemeOutcome]:
        """Every scheme of which something has been said, excluded ones first.

        `runs` tests are made of each at most; when they are `over`, those that disagree have an outcome, too.
        """
        yield from self.excluded.values()
        for scheme, verdicts in self.verdicts.items():
            if scheme not in self.excluded:
                yield agreed(verdicts, runs, over=over)


def agreed(verdicts: Mapping[int, SchemeOutcome], runs: int, *, over: bool) -> SchemeOutcome:
    """The majority's verdict on a scheme (§6.3.5); what a single run says holds until there are more.

    Of several reasons to exclude it, the most frequent counts.
    """
    said = [verdicts[run] for run in sorted(verdicts)]
    count = Counter(map(_key, said))
    most, votes = count.most_common(1)[0]
    if len(said) == 1 or votes >= runs // 2 + 1:
        alike = [told for told in said if _key(told) == most]
        ((reason, _),) = Counter(told.reason for told in alike).most_common(1)
        return next(told for told in alike if told.reason == reason)
    scheme, text = said[0].scheme, REASONS[NotCharacterised.DISAGREEMENT]
    if len(said) < runs and not over:
        return SchemeOutcome(scheme, LAST, OPEN, NotCharacterised.DISAGREEMENT, text)
    usages = {told.text for told in said if told.outcome == SchemeFate.CHARACTERISED}
    outcome = SchemeFate.AMBIGUOUS if len(usages) > 1 else SchemeFate.EXCLUDED
    return SchemeOutcome(scheme, LAST, outcome, NotCharacterised.DISAGREEMENT, text)


def _key(told: SchemeOutcome) -> str:
    """What has to be equal for two runs to agree: the µops, or that there are none to tell of."""
    return told.text if told.outcome == SchemeFate.CHARACTERISED else ""


def search_record(record: RunRecord) -> SearchRecord:
    """What a search by counter-examples has told."""
    return cast(SearchRecord, record.parts["search"])


def evolution_record(record: RunRecord) -> EvolutionRecord:
    """What an evolution has told."""
    return cast(EvolutionRecord, record.parts["evolution"])


def explain_record(record: RunRecord) -> ExplainRecord:
    """What explainable inference has told."""
    return cast(ExplainRecord, record.parts["explain"])

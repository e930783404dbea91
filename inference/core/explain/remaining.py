"""Stage 6: every scheme beside floods of every blocking instruction, in several runs.

A scheme is characterised where a majority of the runs agrees (`majority_verdict`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inference.core.explain.blocking_instructions import BlockingInstructions
from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import Blocker, Floods, sorted_blockers
from inference.core.explain.problem import NotCharacterised, Witness
from inference.core.explain.run_verdict import RunVerdict, judge_run, with_contradiction
from inference.core.explain.settings import DOUBTFUL, NEEDED, THROUGHPUT, UNTIL_COUNTED, ExplainSettings
from inference.core.explain.waste_judge import WasteJudge
from inference.core.mapping import described

_LENGTHENED = 1  # times that floods are lengthened for the µops that shorter ones show
_CHUNK = 128  # schemes tested together, and completed also when the run shall finish early


@dataclass(frozen=True)
class Conclusion:
    """The results of the last stage: the verdicts and witnesses of all runs, by scheme."""

    blocking: BlockingInstructions
    verdicts: Mapping[str, Sequence[RunVerdict]]
    witnesses: Mapping[str, Sequence[Sequence[Witness]]]


@dataclass
class Remaining:
    """The last stage of one search."""

    context: ExplainContext
    blocking: BlockingInstructions
    r_max: float | None
    _verdicts: dict[str, list[RunVerdict]] = field(default_factory=dict)
    _witnesses: dict[str, list[list[Witness]]] = field(default_factory=dict)

    def run(self) -> Conclusion:
        """Test all schemes, in as many runs as the settings ask for or until the run shall finish early."""
        context = self.context
        pace = context.reporter.pace
        pace.may_finish = True  # from here on, schemes that were tested have a result
        floods = Floods(context, self.blocking.ports)
        first = self._test_schemes(floods, context.left, 1)
        if not pace.finishing and self.blocking.extend(context, first):
            floods = Floods(context, self.blocking.ports)
            first = self._test_schemes(floods, context.left, 1, is_reread=True)
        schemes = context.left
        if self.blocking.choose(context, {scheme: first[scheme] for scheme in schemes}):
            self._test_schemes(floods, schemes, 1, is_reread=True)
        context.reporter.classes(self.blocking.table(), self.blocking.ports)
        self._report(schemes, 1)
        for run in range(2, context.settings.runs + 1):
            schemes = [s for s in schemes if majority_verdict(self._verdicts[s], context.settings) is None]
            if not schemes or not context.sampler.repeats or pace.finishing:
                break
            self._test_schemes(floods, schemes, run)
            self._report(schemes, run)
        context.reporter.flush()
        return Conclusion(self.blocking, self._verdicts, self._witnesses)

    def _test_schemes(
        self, floods: Floods, schemes: Sequence[str], run: int, *, is_reread: bool = False
    ) -> dict[str, RunVerdict]:
        """The verdicts of one run; `is_reread`: a repetition of it, most of whose tests are measured already.

        When the run shall finish early, schemes not yet tested in any run are excluded.
        """
        context, reporter, verdicts = self.context, self.context.reporter, {}
        waste = (
            WasteJudge(context, self.blocking.blockers, len(self.blocking.ports), self.r_max)
            if context.counts_from == THROUGHPUT
            else None
        )
        for start in range(0, len(schemes), _CHUNK):
            if start and reporter.pace.finishing and not (is_reread or reporter.is_repeating):
                for scheme in schemes[start:]:
                    if scheme not in self._verdicts:
                        context.exclude(scheme, "remaining", NotCharacterised.NOT_REACHED, "")
                break
            chunk = schemes[start : start + _CHUNK]
            witnesses = self._witnesses_of(floods, chunk, run)
            if waste is not None:
                if seconds := waste.second_floods(witnesses) if self.context.sampler.repeats else {}:
                    floods.compare(seconds)
                    witnesses |= self._witnesses_of(floods, sorted({scheme for scheme, _ in seconds}), run)
                waste.measure(witnesses)
            for scheme in chunk:
                verdicts[scheme] = self._judge(waste, scheme, witnesses[scheme], run)
            reporter.chunk_tested()
            reporter.progress(f"remaining, run {run}", start + len(chunk), len(schemes), "schemes")
        return verdicts

    def _witnesses_of(self, floods: Floods, chunk: Sequence[str], run: int) -> dict[str, list[Witness]]:
        """The witnesses of each scheme; floods that were too short are lengthened and measured again."""
        witnesses: dict[str, list[Witness]] = {}
        remaining = list(chunk)
        for _ in range(_LENGTHENED + 1):
            tested = self._measure(floods, remaining, run)
            witnesses |= {scheme: floods.witnesses(scheme, tested[scheme], run) for scheme in remaining}
            remaining = [scheme for scheme in remaining if floods.lengthen(scheme, witnesses[scheme])]
        return witnesses

    def _measure(self, floods: Floods, chunk: Sequence[str], run: int) -> dict[str, list[Blocker]]:
        """Measure schemes beside floods; returns the blockers that each was tested with, narrow ones first.

        Where no µop is confined to a port set, none is confined to its subsets: these are skipped.
        """
        strategy = self.context.settings.floods
        order = self.blocking.blockers if strategy == UNTIL_COUNTED else self.blocking.blockers[::-1]
        done: dict[str, list[Blocker]] = {scheme: [] for scheme in chunk}
        free: dict[str, list[int]] = {scheme: [] for scheme in chunk}
        for blocker in order:
            open_ = [s for s in chunk if not any(blocker.mask & mask == blocker.mask for mask in free[s])]
            if strategy == UNTIL_COUNTED:
                open_ = [s for s in open_ if not self._is_complete(floods, s, done[s], run)]
            if not self.context.sampler.repeats:
                open_ = [s for s in open_ if floods.can(s, blocker)]
            floods.measure([floods.test(scheme, blocker) for scheme in open_], run)
            for scheme in open_:
                done[scheme].append(blocker)
                if strategy == NEEDED and floods.is_free(scheme, blocker, run):
                    free[scheme].append(blocker.mask)
        return {scheme: sorted_blockers(tested) for scheme, tested in done.items()}

    def _is_complete(self, floods: Floods, scheme: str, before: Sequence[Blocker], run: int) -> bool:
        """Whether the blockers so far have shown all counted µops, so that wider ones need not be tested."""
        count = self.context.uops(scheme)
        return count is not None and count == sum(
            max(0, witness.uops) for witness in floods.witnesses(scheme, before, run)
        )

    def _judge(
        self, waste: WasteJudge | None, scheme: str, witnesses: Sequence[Witness], run: int
    ) -> RunVerdict:
        """The verdict of a run, stored with its witnesses in place of an earlier one of the same run."""
        if waste is not None:
            witnesses = waste.reduce_waste(scheme, witnesses)
        verdict = judge_run(self.context, scheme, witnesses, len(self.blocking.ports), self.r_max)
        if waste is not None and verdict.reason is NotCharacterised.NONE:
            verdict = with_contradiction(verdict, waste.contradiction(scheme, verdict.usage))
        verdicts = self._verdicts.setdefault(scheme, [])
        runs = self._witnesses.setdefault(scheme, [])
        del verdicts[run - 1 :], runs[run - 1 :]
        verdicts.append(verdict)
        runs.append(list(witnesses))
        return verdict

    def _report(self, schemes: Sequence[str], run: int) -> None:
        rows = []
        for scheme in schemes:
            verdict = self._verdicts[scheme][run - 1]
            usage = described(verdict.usage, self.blocking.ports)
            rows.append((scheme, verdict.reason.value or "characterised", verdict.text or usage))
        self.context.reporter.verdicts(run, rows)


def majority_verdict(
    verdicts: Sequence[RunVerdict], settings: ExplainSettings, *, last: bool = False
) -> RunVerdict | None:
    """The verdict that more than half of `settings.runs` agree on; None while there is none.

    A single clear verdict is enough if the settings confirm only doubtful ones, and a single verdict is if it
    is the `last` one. Of several reasons to exclude a scheme, the most frequent counts.
    """
    if len(verdicts) == 1 and (last or (settings.confirm == DOUBTFUL and verdicts[0].clear)):
        return verdicts[0]
    key, count = Counter(verdict.key for verdict in verdicts).most_common(1)[0]
    if count < settings.runs // 2 + 1:
        return None
    alike = [verdict for verdict in verdicts if verdict.key == key]
    ((reason, _),) = Counter(verdict.reason for verdict in alike).most_common(1)
    return next(verdict for verdict in alike if verdict.reason is reason)

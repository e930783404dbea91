"""Stage 6: every scheme beside every blocking instruction, in runs of which a majority has to agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import Blocker, Floods, sorted_blockers
from inference.core.explain.judging import RunVerdict, contradicted, judged
from inference.core.explain.known import Known
from inference.core.explain.problem import NotCharacterised, Witness
from inference.core.explain.settings import DOUBTFUL, NEEDED, THROUGHPUT, UNTIL_COUNTED, ExplainSettings
from inference.core.explain.wasting import WasteJudge
from inference.core.mapping import described

_LENGTHENED = 1  # times that floods are made longer for what shorter ones show
_CHUNK = 128  # tested together, and to the end also where somebody wants what there is


@dataclass(frozen=True)
class Conclusion:
    """What the last stage found: verdicts of all runs, and the witnesses of each, by scheme."""

    known: Known
    verdicts: Mapping[str, Sequence[RunVerdict]]
    witnesses: Mapping[str, Sequence[Sequence[Witness]]]


@dataclass
class Remaining:
    """The last stage of a search."""

    context: ExplainContext
    known: Known
    r_max: float | None
    _verdicts: dict[str, list[RunVerdict]] = field(default_factory=dict)
    _witnesses: dict[str, list[list[Witness]]] = field(default_factory=dict)

    def run(self) -> Conclusion:
        """All runs that are needed, or as far as they come: what was tested is a result from here on."""
        context = self.context
        context.teller.pace.may_finish = True
        pace = context.teller.pace
        pace.may_finish = True
        floods = Floods(context, self.known.ports)
        first = self._tested(floods, context.left, 1)
        if not pace.finishing and self.known.extend(context, first):
            floods = Floods(context, self.known.ports)
            first = self._tested(floods, context.left, 1, whole=True)
        schemes = context.left
        if self.known.choose(context, {scheme: first[scheme] for scheme in schemes}):
            self._tested(floods, schemes, 1, whole=True)
        context.teller.classes(self.known.table(), self.known.ports)
        self._tell(schemes, 1)
        for run in range(2, context.settings.runs + 1):
            schemes = [s for s in schemes if agreed(self._verdicts[s], context.settings) is None]
            if not schemes or not context.sampler.repeats or pace.finishing:
                break
            self._tested(floods, schemes, run)
            self._tell(schemes, run)
        context.teller.flush()
        return Conclusion(self.known, self._verdicts, self._witnesses)

    def _tested(
        self, floods: Floods, schemes: Sequence[str], run: int, *, whole: bool = False
    ) -> dict[str, RunVerdict]:
        """The verdicts of a run; `whole`: of one that reads tests anew, most of which are measured.

        Where somebody wants what there is, schemes whose turn is still to come are left out, unless an
        earlier run tested them.
        """
        context, teller, found = self.context, self.context.teller, {}
        waste = (
            WasteJudge(context, self.known.blockers, len(self.known.ports), self.r_max)
            if context.counts_from == THROUGHPUT
            else None
        )
        for start in range(0, len(schemes), _CHUNK):
            if start and teller.pace.finishing and not (whole or teller.is_repeating):
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
                found[scheme] = self._judge(waste, scheme, witnesses[scheme], run)
            teller.chunk_tested()
            teller.progress(f"remaining, run {run}", start + len(chunk), len(schemes), "schemes")
        return found

    def _witnesses_of(self, floods: Floods, chunk: Sequence[str], run: int) -> dict[str, list[Witness]]:
        """What blocking shows; of floods that were too short for that, what longer ones do."""
        witnesses: dict[str, list[Witness]] = {}
        left = list(chunk)
        for _ in range(_LENGTHENED + 1):
            tested = self._measure(floods, left, run)
            witnesses |= {scheme: floods.witnesses(scheme, tested[scheme], run) for scheme in left}
            left = [scheme for scheme in left if floods.lengthen(scheme, witnesses[scheme])]
        return witnesses

    def _measure(self, floods: Floods, chunk: Sequence[str], run: int) -> dict[str, list[Blocker]]:
        """Beside one blocker after another; the blockers that each scheme was tested with, narrow ones first.

        Where nothing is bound to a port set, nothing is bound to subsets of it.
        """
        floods_wanted = self.context.settings.floods
        order = self.known.blockers if floods_wanted == UNTIL_COUNTED else self.known.blockers[::-1]
        done: dict[str, list[Blocker]] = {scheme: [] for scheme in chunk}
        free: dict[str, list[int]] = {scheme: [] for scheme in chunk}
        for blocker in order:
            open_ = [s for s in chunk if not any(blocker.mask & mask == blocker.mask for mask in free[s])]
            if floods_wanted == UNTIL_COUNTED:
                open_ = [s for s in open_ if not self._is_complete(floods, s, done[s], run)]
            if not self.context.sampler.repeats:
                open_ = [s for s in open_ if floods.can(s, blocker)]
            floods.measure([floods.test(scheme, blocker) for scheme in open_], run)
            for scheme in open_:
                done[scheme].append(blocker)
                if floods_wanted == NEEDED and floods.is_free(scheme, blocker, run):
                    free[scheme].append(blocker.mask)
        return {scheme: sorted_blockers(tested) for scheme, tested in done.items()}

    def _is_complete(self, floods: Floods, scheme: str, before: Sequence[Blocker], run: int) -> bool:
        count = self.context.uops(scheme)
        return count is not None and count == sum(
            max(0, witness.uops) for witness in floods.witnesses(scheme, before, run)
        )

    def _judge(
        self, waste: WasteJudge | None, scheme: str, witnesses: Sequence[Witness], run: int
    ) -> RunVerdict:
        if waste is not None:
            witnesses = waste.settled(scheme, witnesses)
        verdict = judged(self.context, scheme, witnesses, len(self.known.ports), self.r_max)
        if waste is not None and verdict.reason is NotCharacterised.NONE:
            verdict = contradicted(verdict, waste.contradiction(scheme, verdict.usage))
        verdicts = self._verdicts.setdefault(scheme, [])
        shown = self._witnesses.setdefault(scheme, [])
        del verdicts[run - 1 :], shown[run - 1 :]
        verdicts.append(verdict)
        shown.append(list(witnesses))
        return verdict

    def _tell(self, schemes: Sequence[str], run: int) -> None:
        told = []
        for scheme in schemes:
            verdict = self._verdicts[scheme][run - 1]
            usage = described(verdict.usage, self.known.ports)
            told.append((scheme, verdict.reason.value or "characterised", verdict.text or usage))
        self.context.teller.verdicts(run, told)


def agreed(
    verdicts: Sequence[RunVerdict], settings: ExplainSettings, *, last: bool = False
) -> RunVerdict | None:
    """The verdict that more than half of the runs agree on, however others turn out; None for none yet.

    Where only what is doubtful is confirmed, a single clear one will do; and the `last` there is, where
    nothing can be measured twice. Of several reasons to exclude a scheme, the most frequent counts.
    """
    if len(verdicts) == 1 and (last or (settings.confirm == DOUBTFUL and verdicts[0].clear)):
        return verdicts[0]
    key, count = Counter(verdict.key for verdict in verdicts).most_common(1)[0]
    if count < settings.runs // 2 + 1:
        return None
    alike = [verdict for verdict in verdicts if verdict.key == key]
    ((reason, _),) = Counter(verdict.reason for verdict in alike).most_common(1)
    return next(verdict for verdict in alike if verdict.reason is reason)

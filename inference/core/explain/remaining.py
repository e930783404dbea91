"""Stage 6: every scheme beside every blocking instruction, in runs of which a majority has to agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inference.core.explain.bench import Bench
from inference.core.explain.blocking import BlockingAnswer
from inference.core.explain.classes import PORT, busy_ports
from inference.core.explain.flooding import Blocker, Floods, sorted_blockers
from inference.core.explain.improper import improper_schemes
from inference.core.explain.judging import Verdict, judged
from inference.core.explain.ports import Improper, Solver, blockers_of, class_table
from inference.core.explain.problem import BlockingClass, Reason, Witness
from inference.core.explain.settings import DOUBTFUL, NEEDED, UNTIL_COUNTED, ExplainSettings
from inference.core.mapping import Uops, described

_CHUNK = 128


class Known(Protocol):
    """The blocking instructions, however they were found."""

    blockers: list[Blocker]
    ports: tuple[str, ...]
    answer: BlockingAnswer | None
    improper: list[Improper]

    def extend(self, bench: Bench, verdicts: Mapping[str, Verdict]) -> bool:
        """Find more of them in what a first run could not explain; False where there are none."""
        ...

    def table(self) -> list[BlockingClass]:
        """All of them with their classes."""
        ...


class ByTime:
    """Found by time alone, their ports by counter-examples."""

    def __init__(
        self,
        bench: Bench,
        solver: Solver,
        classes: list[list[str]],
        answer: BlockingAnswer,
        r_max: float | None,
    ) -> None:
        self._widths = bench.widths
        self._solver = solver
        self._classes = classes
        self.improper: list[Improper] = []
        self._r_max = r_max
        self.answer: BlockingAnswer | None = None
        self._take(answer)

    def _take(self, answer: BlockingAnswer) -> None:
        self.answer = answer
        self.ports = answer.mapping.ports
        self.improper = [each for each in self.improper if each.scheme in answer.mapping.usage]
        found = blockers_of(self._classes, self.improper, answer.mapping, self._r_max)
        self.blockers = sorted_blockers(found)

    def extend(self, bench: Bench, verdicts: Mapping[str, Verdict]) -> bool:
        """See `Known`; §6.3.4."""
        known = [each.mask for each in self.blockers]
        found = improper_schemes(bench, verdicts, known, len(self.ports), self._r_max)
        if not found:
            return False
        bench.teller.log(f"µops that no scheme has alone; blocked with {'; '.join(e.scheme for e in found)}")
        self._classes, answer = self._solver.solve(self._classes, found)
        self.improper = found
        self._take(answer)
        return True

    def table(self) -> list[BlockingClass]:
        """See `Known`."""
        mapping = None if self.answer is None else self.answer.mapping
        return class_table(self._classes, self.improper, mapping, self._widths)


class ByCounters:
    """Found by counters of the ports (Alg. 6.1)."""

    def __init__(self, classes: list[BlockingClass], ports: tuple[str, ...]) -> None:
        self._classes = classes
        self.ports = ports
        self.answer: BlockingAnswer | None = None
        self.improper: list[Improper] = []
        self.blockers = sorted_blockers([Blocker(each.blocker, each.mask) for each in classes])

    def extend(self, bench: Bench, verdicts: Mapping[str, Verdict]) -> bool:
        """The ports on which the one µop is counted that no blocking instruction accounts for."""
        names = [PORT + port for port in self.ports]
        known = {each.mask for each in self.blockers}
        found: dict[int, tuple[str, Uops]] = {}
        for scheme in sorted(verdicts, key=bench.preference):
            verdict = verdicts[scheme]
            if verdict.reason not in (Reason.MISSING, Reason.SLOW) or bench.uops(scheme) != 2:
                continue
            busy = busy_ports(bench, scheme, names)
            beside = tuple(uop for uop in verdict.usage if uop[0] & busy == uop[0])
            mask = busy & ~sum(uop[0] for uop in beside)
            if len(beside) == 1 and beside[0][1] == 1 and mask and mask not in known:
                found.setdefault(mask, (scheme, beside))
        for mask, (scheme, beside) in found.items():
            each = BlockingClass(scheme, mask.bit_count(), mask, (scheme,), improper=True, beside=beside)
            self._classes.append(each)
        more = [Blocker(scheme, mask, improper=True) for mask, (scheme, _) in found.items()]
        self.blockers = sorted_blockers([*self.blockers, *more])
        return bool(found)

    def table(self) -> list[BlockingClass]:
        """See `Known`."""
        return sorted(self._classes, key=lambda each: (each.improper, -each.width, each.mask))


@dataclass(frozen=True)
class Conclusion:
    """What the last stage found: verdicts of all runs, and the witnesses of each, by scheme."""

    known: Known
    verdicts: Mapping[str, Sequence[Verdict]]
    witnesses: Mapping[str, Sequence[Sequence[Witness]]]


@dataclass
class Remaining:
    """The last stage of a search."""

    bench: Bench
    known: Known
    r_max: float | None
    _verdicts: dict[str, list[Verdict]] = field(default_factory=dict)
    _witnesses: dict[str, list[list[Witness]]] = field(default_factory=dict)

    def run(self) -> Conclusion:
        """All runs that are needed."""
        bench = self.bench
        schemes = bench.left
        floods = Floods(bench, self.known.ports)
        first = self._tested(floods, schemes, 1)
        if self.known.extend(bench, first):
            bench.teller.classes(self.known.table(), self.known.ports)
            schemes = bench.left
            floods = Floods(bench, self.known.ports)
            self._tested(floods, schemes, 1)
        self._tell(schemes, 1)
        for run in range(2, bench.settings.runs + 1):
            schemes = [s for s in schemes if agreed(self._verdicts[s], bench.settings) is None]
            if not schemes or not bench.sampler.repeats:
                break
            self._tested(floods, schemes, run)
            self._tell(schemes, run)
        bench.teller.flush()
        return Conclusion(self.known, self._verdicts, self._witnesses)

    def _tested(self, floods: Floods, schemes: Sequence[str], run: int) -> dict[str, Verdict]:
        found = {}
        for start in range(0, len(schemes), _CHUNK):
            chunk = schemes[start : start + _CHUNK]
            tested = self._measure(floods, chunk, run)
            for scheme in chunk:
                found[scheme] = self._judge(floods, scheme, tested[scheme], run)
            self.bench.teller.progress(f"remaining, run {run}", start + len(chunk), len(schemes), "schemes")
        return found

    def _measure(self, floods: Floods, chunk: Sequence[str], run: int) -> dict[str, list[Blocker]]:
        """Beside one blocker after another; the blockers that each scheme was tested with, narrow ones first.

        Where nothing is bound to a port set, nothing is bound to subsets of it.
        """
        floods_wanted = self.bench.settings.floods
        order = self.known.blockers if floods_wanted == UNTIL_COUNTED else self.known.blockers[::-1]
        done: dict[str, list[Blocker]] = {scheme: [] for scheme in chunk}
        free: dict[str, list[int]] = {scheme: [] for scheme in chunk}
        for blocker in order:
            open_ = [s for s in chunk if not any(blocker.mask & mask == blocker.mask for mask in free[s])]
            if floods_wanted == UNTIL_COUNTED:
                open_ = [s for s in open_ if not self._is_complete(floods, s, done[s], run)]
            floods.measure([floods.test(scheme, blocker) for scheme in open_], run)
            for scheme in open_:
                done[scheme].append(blocker)
                if floods_wanted == NEEDED and floods.is_free(scheme, blocker, run):
                    free[scheme].append(blocker.mask)
        return {scheme: sorted_blockers(tested) for scheme, tested in done.items()}

    def _is_complete(self, floods: Floods, scheme: str, before: Sequence[Blocker], run: int) -> bool:
        count = self.bench.uops(scheme)
        return count is not None and count == sum(
            max(0, witness.uops) for witness in floods.witnesses(scheme, before, run)
        )

    def _judge(self, floods: Floods, scheme: str, blockers: Sequence[Blocker], run: int) -> Verdict:
        witnesses = floods.witnesses(scheme, blockers, run)
        verdict = judged(self.bench, scheme, witnesses, len(self.known.ports), self.r_max)
        verdicts = self._verdicts.setdefault(scheme, [])
        shown = self._witnesses.setdefault(scheme, [])
        del verdicts[run - 1 :], shown[run - 1 :]
        verdicts.append(verdict)
        shown.append(witnesses)
        return verdict

    def _tell(self, schemes: Sequence[str], run: int) -> None:
        told = []
        for scheme in schemes:
            verdict = self._verdicts[scheme][run - 1]
            usage = described(verdict.usage, self.known.ports)
            told.append((scheme, verdict.reason.value or "characterised", verdict.text or usage))
        self.bench.teller.verdicts(run, told)


def agreed(verdicts: Sequence[Verdict], settings: ExplainSettings, *, last: bool = False) -> Verdict | None:
    """The verdict that more than half of the runs agree on, however others turn out; None for none yet.

    Where only what is doubtful is confirmed, a single clear one will do; and the `last` there is, where
    nothing can be measured twice.
    """
    if len(verdicts) == 1 and (last or (settings.confirm == DOUBTFUL and verdicts[0].clear)):
        return verdicts[0]
    key, count = Counter(verdict.key for verdict in verdicts).most_common(1)[0]
    if count < settings.runs // 2 + 1:
        return None
    return next(verdict for verdict in verdicts if verdict.key == key)

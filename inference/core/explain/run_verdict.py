"""The verdict of one run on a scheme, from its witnesses (§6.3.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inference.core.experiment import Experiment
from inference.core.explain.context import ExplainContext
from inference.core.explain.problem import NotCharacterised, VerdictFact, Witness, WitnessOutcome
from inference.core.explain.surplus import usage_from
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.throughput import inverse_throughput

_ALIKE = 0.15
"""Relative difference up to which delays of different floods count as equal."""

_MIN_ALIKE = 4
"""Different floods that must be delayed equally before microcode is the reason: fewer may share a port."""

_RATE = 0.03
"""Relative difference from R_max up to which R_max, not the ports, limits a scheme alone."""

_CLEAR = 0.5
"""Share of the tolerance within which a surplus is close to an integer, so that one run is enough."""


@dataclass(frozen=True)
class RunVerdict:
    """The verdict of one run: the surplus beside each blocker and the µops, or the reason why there are none.

    `clear`: every surplus is close to a whole number.
    """

    surpluses: Mapping[str, int]
    usage: Uops
    reason: NotCharacterised
    text: str = ""
    facts: tuple[VerdictFact, ...] = ()
    clear: bool = False

    @property
    def key(self) -> Uops | None:
        """Value that agreeing runs share: the µops, or None where the scheme is excluded."""
        return self.usage if self.reason is NotCharacterised.NONE else None


def judge_run(
    context: ExplainContext, scheme: str, witnesses: Sequence[Witness], n_ports: int, r_max: float | None
) -> RunVerdict:
    """The verdict of one run on a scheme.

    Args:
        context: State of the search.
        scheme: The scheme.
        witnesses: Its witnesses, narrow port sets first.
        n_ports: Number of ports.
        r_max: Instructions per cycle, None for no limit.
    """
    surpluses = {
        w.blocker: w.below + w.uops
        for w in witnesses
        if w.seen in (WitnessOutcome.USES, WitnessOutcome.EVADES)
    }
    usage = usage_from(surpluses, {w.blocker: w.mask for w in witnesses})
    if usage is None:  # no or several solutions: take each witness by itself
        usage = uops_of((w.mask, w.uops) for w in witnesses if w.seen is WitnessOutcome.USES)
    reason, text, facts = _doubtful(witnesses)
    if reason is NotCharacterised.NONE:
        reason, text, facts = _implausible(context, scheme, usage, witnesses, n_ports, r_max)
    clear = reason is NotCharacterised.NONE and all(
        w.surplus is not None and abs(w.surplus - round(w.surplus)) <= _CLEAR * w.tolerance for w in witnesses
    )
    return RunVerdict(surpluses, usage, reason, text, tuple(facts), clear)


def with_contradiction(verdict: RunVerdict, fact: VerdictFact | None) -> RunVerdict:
    """The verdict, excluded as `FAST` if `fact` is an experiment that takes less time than the µops need."""
    if fact is None:
        return verdict
    text = f"{fact.experiment} takes {fact.observed:.3g} cycles; with these µops it needs {fact.expected:.3g}"
    return replace(verdict, reason=NotCharacterised.FAST, text=text, facts=(fact,), clear=False)


Finding = tuple[NotCharacterised, str, list[VerdictFact]]
"""The reason why a scheme is excluded (`NONE` for none), as a sentence, and the experiments behind it."""

NOTHING_WRONG: Finding = (NotCharacterised.NONE, "", [])


def _doubtful(witnesses: Sequence[Witness]) -> Finding:
    """The reason for which the witnesses alone exclude the scheme."""
    if sluggish := delays_all_alike(witnesses):
        cycles = sum(_delay(w) for w in sluggish) / len(sluggish)
        text = f"delays all {len(sluggish)} floods by {cycles:.2g} cycles, whatever ports they block"
        return NotCharacterised.MICROCODE, text, [_fact(w) for w in sluggish]
    for outcome, reason in (
        (WitnessOutcome.FAILED, NotCharacterised.UNMEASURED),
        (WitnessOutcome.UNSTABLE, NotCharacterised.UNSTABLE),
    ):
        if failed := [w for w in witnesses if w.seen is outcome]:
            return reason, f"beside {failed[0].blocker}", [_fact(w) for w in failed]
    if odd := [w for w in witnesses if w.seen is WitnessOutcome.ODD]:
        first = odd[0]
        reason = NotCharacterised.NEGATIVE if all(w.uops < 0 for w in odd) else NotCharacterised.NOT_INTEGER
        assert first.surplus is not None, "odd is said of a number"
        text = f"{first.surplus:.2f} µops beside {first.blocker}, {first.below} of them found on fewer ports"
        return reason, text, [_fact(w) for w in odd]
    return NOTHING_WRONG


def delays_all_alike(witnesses: Sequence[Witness]) -> list[Witness]:
    """The witnesses, if all show the same delay in cycles, as with microcode; else empty."""
    delaying = [w for w in witnesses if w.seen not in (WitnessOutcome.FAILED, WitnessOutcome.UNDECIDED)]
    if len({w.mask for w in delaying}) < _MIN_ALIKE:
        return []
    common = delaying[0].mask  # a port of all floods would explain equal delays without microcode
    for witness in delaying:
        common &= witness.mask
    delays = sorted(_delay(w) for w in delaying)
    middle = delays[len(delays) // 2]
    alike = middle > 0 and all(
        abs(_delay(w) - middle) <= _ALIKE * middle + w.tolerance / w.mask.bit_count() for w in delaying
    )
    all_delayed = all(_delay(w) * w.mask.bit_count() > 0.5 for w in delaying)  # by half a µop or more
    return list(delaying) if alike and all_delayed and not common else []


def _implausible(
    context: ExplainContext,
    scheme: str,
    usage: Uops,
    witnesses: Sequence[Witness],
    n_ports: int,
    r_max: float | None,
) -> Finding:
    """The reason for which the scheme's time alone, or its count, contradicts the µops."""
    undecided = any(w.seen is WitnessOutcome.UNDECIDED for w in witnesses)
    if not usage and context.uops(scheme) is None:
        return _without_uops(context, scheme, r_max, undecided=undecided)
    explained = alone_cycles(usage, n_ports, r_max, context.alone[scheme].experiment)
    miscounted = _count_mismatch(context, scheme, usage, witnesses, explained, undecided=undecided)
    return miscounted or _time_mismatch(context, scheme, explained)


def _without_uops(context: ExplainContext, scheme: str, r_max: float | None, *, undecided: bool) -> Finding:
    """The reason for a scheme that delays no flood; none if a port set as wide as R_max may hide its µops."""
    alone, cycles = context.alone[scheme].experiment, context.cycles(scheme)
    if r_max is not None and is_at_limit(cycles, r_max):
        if undecided:
            return NOTHING_WRONG
        text = f"{1 / cycles:.2g} per cycle, the bottleneck's rate, and it delays no flood"
        return NotCharacterised.NO_PORTS, text, [VerdictFact(alone, 1 / r_max, cycles)]
    return (
        NotCharacterised.MISSING,
        f"takes {cycles:.3g} cycles alone, yet it delays no flood",
        [VerdictFact(alone, None, cycles)],
    )


def is_at_limit(cycles: float, r_max: float) -> bool:
    """Whether a scheme with this time alone runs at the bottleneck's rate."""
    return abs(1 / cycles - r_max) <= _RATE * r_max


def _count_mismatch(
    context: ExplainContext,
    scheme: str,
    usage: Uops,
    witnesses: Sequence[Witness],
    explained: float,
    *,
    undecided: bool,
) -> Finding | None:
    """The reason where the count differs from the µops found; None where it does not."""
    count, n_uops = context.uops(scheme), sum(count for _, count in usage)
    if count is None or n_uops == count:
        return None
    if n_uops > count:
        uses = [_fact(w) for w in witnesses if w.seen is WitnessOutcome.USES]
        return NotCharacterised.MORE_UOPS, f"{n_uops} µops were found, {count} counted", uses
    if undecided:
        return NOTHING_WRONG
    text = f"{count} µops are counted, {n_uops} of them use ports that are blocked"
    return (
        NotCharacterised.MISSING,
        text,
        [VerdictFact(context.alone[scheme].experiment, explained, context.cycles(scheme))],
    )


def _time_mismatch(context: ExplainContext, scheme: str, explained: float) -> Finding:
    """The reason where the scheme alone takes another time than the `explained` cycles of its µops."""
    alone, cycles = context.alone[scheme], context.cycles(scheme)
    off = context.settings.alone_epsilon + context.sampler.error(alone)
    fits = VerdictFact(alone.experiment, explained, cycles)
    if cycles > explained + off:
        return (
            NotCharacterised.SLOW,
            f"takes {cycles:.3g} cycles alone; its µops explain {explained:.3g}",
            [fits],
        )
    if cycles < explained - off:
        return (
            NotCharacterised.FAST,
            f"takes {cycles:.3g} cycles alone; its µops need {explained:.3g}",
            [fits],
        )
    return NOTHING_WRONG


def alone_cycles(usage: Uops, n_ports: int, r_max: float | None, alone: Experiment) -> float:
    """Cycles of an experiment of one scheme with these µops, R_max applied."""
    scheme = alone.schemes[0]
    mapping = PortMapping(tuple(str(k) for k in range(n_ports)), {scheme: usage}, r_max)
    return inverse_throughput(mapping, alone)


def _delay(witness: Witness) -> float:
    """Cycles by which the scheme delays the flood."""
    assert witness.cycles is not None, "a witness that failed shows no delay"
    assert witness.base_cycles is not None, "a witness that failed shows no delay"
    return witness.cycles - witness.base_cycles


def _fact(witness: Witness) -> VerdictFact:
    return VerdictFact(witness.tested, witness.expected_cycles, witness.cycles)

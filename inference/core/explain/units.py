"""Units of a core that share no ports as far as measurements tell, and whose ports are searched separately.

A search for the ports of all blocking instructions at once would have to explain all waste of the core, and
where the bottleneck hides whether two classes share ports, the fewest ports make them share some. So classes
form a unit only where an experiment takes longer than with separate ports, or where their schemes are of the
same domain (integer, vector, memory). Between domains waste is no sign of a shared port: a load beside a
vector addition takes 20 % longer on some cores.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from inference.core.experiment import Experiment
from inference.core.explain.blocking_question import BlockingAnswer
from inference.core.explain.context import ERRORS, ExplainContext
from inference.core.explain.flooding import is_wide
from inference.core.explain.surplus import MIN_COPIES, flood_of
from inference.core.identity.canonical import side_by_side

APART = "µops of {} have ports of their own, where measurements cannot tell"

_WASTE = 0.3  # share by which classes of different domains may exceed the time of separate ports
_VISIBLE = 0.02  # relative difference from which two times can be distinguished
_ALL = 2  # domains besides its own: there are three
_MEMORY = "memory"
_COMPUTING = 0.1  # share of register forms from which they decide: fewer may be slow for other reasons
_MNEMONICS = 2  # at least, of a class that joins domains: a single one may be slow for other reasons


def units_of(
    context: ExplainContext, classes: Sequence[list[str]], r_max: float | None
) -> dict[str, list[list[str]]]:
    """{name of a unit: its classes}, in the order of the classes.

    A class that takes longer beside classes of two other domains has no unit: slots limit it, as they do
    `xchg`. Nor has a class without a domain where others have one: an instruction that moves values between
    parts of a core may have a µop in each, and one that runs at the bottleneck's rate may use no port.
    """
    domains = [domain_of_class(context, members) for members in classes]
    _measure(context, classes)

    def is_across(first: int, second: int) -> bool:
        """Whether a class takes longer beside another one, which is not a single mnemonic's peculiarity."""
        if mnemonics(classes[second]) < _MNEMONICS:
            return False
        return _share(context, classes[first][0], classes[second][0], r_max, _WASTE)

    def other_domains(number: int) -> set[str]:
        """The domains beside whose classes a class takes longer."""
        return {
            domains[other]
            for other in range(len(classes))
            if domains[number] and domains[other] not in ("", domains[number]) and is_across(number, other)
        }

    def has_unit(number: int) -> bool:
        head = classes[number][0]
        if len(other_domains(number)) >= _ALL:
            return False
        uses_ports = head in context.problem.domains or not is_wide(context.widths[head], r_max)
        return not any(domains) or bool(domains[number] and uses_ports)

    def is_joined(first: int, second: int) -> bool:
        if not any(domains):
            return _share(context, classes[first][0], classes[second][0], r_max, 0.0)
        return domains[first] == domains[second] or (is_across(first, second) and is_across(second, first))

    units: list[list[int]] = []
    for number in filter(has_unit, range(len(classes))):
        joined_by = [unit for unit in units if any(is_joined(number, other) for other in unit)]
        units = [unit for unit in units if unit not in joined_by]
        units.append([*itertools.chain(*joined_by), number])
    units = sorted(map(sorted, units))
    return {
        _name([domains[k] for k in unit]) or classes[unit[0]][0]: [classes[k] for k in unit] for unit in units
    }


def mnemonics(members: Sequence[str]) -> int:
    """Number of different mnemonics of the schemes."""
    return len({scheme.partition(" ")[0] for scheme in members})


def _name(domains: Sequence[str]) -> str:
    return " and ".join(dict.fromkeys(filter(None, domains)))


def domain_of_class(context: ExplainContext, members: Sequence[str]) -> str:
    """The commonest domain of a class's schemes; "" where none has one.

    Forms that load have the domain memory, also of multiplications and shifts. These may outnumber the
    register forms, so that a share of `_COMPUTING` of these decides that it is not a class of loads.
    """
    counts = Counter(filter(None, map(context.problem.domains.get, members)))
    if counts.total() - counts[_MEMORY] >= _COMPUTING * counts.total():
        del counts[_MEMORY]
    return counts.most_common(1)[0][0] if counts else ""


def _mixes(context: ExplainContext, first: str, second: str) -> Iterator[Experiment]:
    """Available experiments of two classes whose time would show shared ports."""
    widths = context.widths[first], context.widths[second]
    for mix in (
        Experiment.of([first, second]),
        Experiment.of({first: widths[0], second: widths[1]}),
        flood_of(first, MIN_COPIES, second),
        flood_of(second, MIN_COPIES, first),
    ):
        if context.sampler.has(mix):
            yield mix


def _measure(context: ExplainContext, classes: Sequence[list[str]]) -> None:
    pairs = itertools.combinations([members[0] for members in classes], 2)
    mixes = [mix for pair in pairs for mix in _mixes(context, *pair)]
    error = context.settings.epsilon / 4
    context.measure(
        {mix: context.sampler.n_samples(mix, error * mix.length, context.settings.samples) for mix in mixes}
    )


def is_apart_possible(context: ExplainContext, first: str, second: str, r_max: float | None) -> bool:
    """Whether no mix of two classes shows that they share ports."""
    return not _share(context, first, second, r_max, 0.0)


def _share(context: ExplainContext, first: str, second: str, r_max: float | None, waste: float) -> bool:
    """Whether a mix of two classes takes longer than separate ports and the bottleneck need.

    The excess must be half of what the fewest visible shared ports cost, and above the share `waste` of the
    time.
    """
    widths = {scheme: context.widths[scheme] for scheme in (first, second)}
    for mix in _mixes(context, first, second):
        limit = 0.0 if r_max is None else mix.length / r_max
        apart = max(limit, *(count / widths[scheme] for scheme, count in mix.terms))
        total = sum(widths.values())
        shared = (mix.length / (total - ports) for ports in range(1, min(widths.values()) + 1))
        visible = next((cycles for cycles in shared if cycles > (1 + _VISIBLE) * apart), None)
        reading = context.sampler.reading(mix)
        if visible is None or reading.cycles is None or context.is_unstable(mix):
            continue
        excess = reading.cycles - ERRORS * context.sampler.error(reading) - apart
        if excess > max((visible - apart) / 2, waste * apart):
            return True
    return False


def join_answers(
    answers: Mapping[str, BlockingAnswer], r_max: float | None, max_ports: int
) -> BlockingAnswer:
    """One answer for all units, their ports side by side, with at most `max_ports` alternatives.

    Each alternative differs from the mapping in one unit.
    """
    if len(answers) == 1:
        return next(iter(answers.values()))
    mapping = side_by_side([part.mapping for part in answers.values()], r_max)
    alternatives = []
    for unit, answer in answers.items():
        for other in answer.alternatives:
            parts = [other if name == unit else part.mapping for name, part in answers.items()]
            alternatives.append(side_by_side(parts, r_max))
    return BlockingAnswer(
        mapping=mapping,
        alternatives=tuple(alternatives[:max_ports]),
        dropped={head: why for part in answers.values() for head, why in part.dropped.items()},
        verdict="; ".join(f"{unit}: {part.verdict}" for unit, part in answers.items()),
        experiments=sum(part.experiments for part in answers.values()),
        assumptions=(
            APART.format(" and of ".join(answers)),
            *dict.fromkeys(text for part in answers.values() for text in part.assumptions),
        ),
        unexplained=tuple(text for part in answers.values() for text in part.unexplained),
    )

"""Units of a core that share no ports, as far as measurements allow it: a question about ports for each.

A search for the ports of all blocking instructions at once has every core's waste to explain: a load beside a
vector addition takes 20 % longer on some, and sharing a port explains that too. So kinds whose schemes are of
different domains (integer, vector, memory) are placed apart; what is of no domain goes where a flood holds it
up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from inference.core.explain.context import ExplainContext
from inference.core.explain.flooding import HELD_UP, surpluses
from inference.core.explain.problem import BlockingAnswer
from inference.core.mapping import PortMapping, Uops

APART = "µops of {} have ports of their own, where measurements cannot tell"


def units_of(context: ExplainContext, classes: Sequence[list[str]]) -> dict[str, list[list[str]]]:
    """{name of a unit: its classes}, in the order of the classes; one unit where no domains are known."""
    domains = [_domain(context, members) for members in classes]
    if not any(domains):
        return {"": list(classes)}
    units: dict[str, list[list[str]]] = {}
    for members, domain in zip(classes, domains, strict=True):
        name = domain or _holding_up(context, members, classes, domains) or members[0]
        units.setdefault(name, []).append(members)
    return units


def _domain(context: ExplainContext, members: Sequence[str]) -> str:
    """The commonest of its schemes; "" where that is none."""
    found = Counter(context.problem.domains.get(scheme, "") for scheme in members)
    return found.most_common(1)[0][0]


def _holding_up(
    context: ExplainContext, members: Sequence[str], classes: Sequence[list[str]], domains: Sequence[str]
) -> str:
    """The domain of the first class whose flood a class cannot evade; "" for none."""
    scheme = members[0]
    others = {
        other[0]: domain
        for other, domain in zip(classes, domains, strict=True)
        if domain and context.widths[other[0]] >= context.widths[scheme]
    }
    counts = surpluses(context, [(scheme, head) for head in others])
    return next((domain for head, domain in others.items() if counts.get((scheme, head), 0) >= HELD_UP), "")


def joined(answers: Mapping[str, BlockingAnswer], r_max: float | None, most: int) -> BlockingAnswer:
    """One answer of those about units, the ports of one after those of the other; `most` alternatives.

    Alternatives differ in one unit each, as the units have nothing in common.
    """
    if len(answers) == 1:
        return next(iter(answers.values()))
    mapping = _side_by_side([each.mapping for each in answers.values()], r_max)
    alternatives = []
    for unit, answer in answers.items():
        for other in answer.alternatives:
            parts = [other if name == unit else each.mapping for name, each in answers.items()]
            alternatives.append(_side_by_side(parts, r_max))
    return BlockingAnswer(
        mapping=mapping,
        alternatives=tuple(alternatives[:most]),
        dropped={head: why for each in answers.values() for head, why in each.dropped.items()},
        verdict="; ".join(f"{unit}: {each.verdict}" for unit, each in answers.items()),
        experiments=sum(each.experiments for each in answers.values()),
        assumptions=(
            APART.format(" and of ".join(answers)),
            *dict.fromkeys(text for each in answers.values() for text in each.assumptions),
        ),
        unexplained=tuple(text for each in answers.values() for text in each.unexplained),
    )


def _side_by_side(mappings: Sequence[PortMapping], r_max: float | None) -> PortMapping:
    usage: dict[str, Uops] = {}
    ports = 0
    for mapping in mappings:
        usage |= {
            scheme: tuple((mask << ports, count) for mask, count in uops)
            for scheme, uops in mapping.usage.items()
        }
        ports += len(mapping.ports)
    return replace(
        mappings[0], ports=tuple(map(str, range(ports))), usage=dict(sorted(usage.items())), r_max=r_max
    )

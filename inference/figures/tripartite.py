"""Data of a port mapping as a graph in three columns: schemes, µops, ports (thesis Fig. 3.3), or of two
mappings.

Schemes with equal µops form one group, so that thousands of schemes become a few dozen nodes. Ports keep
their order; µops and groups are placed at the barycentre of their neighbours, which keeps edges short and
crossings few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean

from inference.core.errors import UnknownSchemeError
from inference.core.identity import ComparedScheme, MappingComparison, SchemeRelation
from inference.core.mapping import PortMapping, Uops, described, hidden_in, hidden_kinds, ports_in
from inference.core.schedule import SLOTS, Schedule
from inference.figures.plotly_json import Json


def uop_json(mask: int, ports: Sequence[str]) -> Json:
    """{"mask": hexadecimal text, "ports": indices, "label": "[0,1,5]"} of the µops on a port set.

    The mask is text because it may exceed the whole numbers of JavaScript.
    """
    indices = list(ports_in(mask))
    return {"mask": f"{mask:#x}", "ports": indices, "label": f"[{','.join(ports[k] for k in indices)}]"}


FACETS = ("extension", "category", "memory")
"""Properties of a scheme by which the graph can be filtered."""

_ORDER = {kind: place for place, kind in enumerate(SchemeRelation)}


def tripartite(mapping: PortMapping, schemes: Iterable[str] | None = None) -> Json:
    """The graph as JSON, each list in order from top to bottom:

    - `ports`: names;
    - `uops`: as from `uop_json`, and whether they are `hidden`: no experiment can show them;
    - `groups`: {"schemes": texts, "uops": [{"uop": index into `uops`, "count"}], "usage": "2×[0,1] + 1×[5]",
      "hidden": "1 µop on 4 or more ports" or ""}.

    `schemes` restricts the graph to some of the mapping's schemes; `UnknownSchemeError` for others.
    """
    selection = sorted(set(mapping.usage if schemes is None else schemes))
    unknown = [scheme for scheme in selection if scheme not in mapping.usage]
    if unknown:
        raise UnknownSchemeError(unknown)
    hidden = hidden_kinds(mapping)
    folded: dict[tuple[Uops, str], list[str]] = {}
    for scheme in selection:
        hidden_text = str(hidden_in(mapping, scheme, hidden) or "")
        folded.setdefault((tuple(mapping.usage[scheme]), hidden_text), []).append(scheme)
    position = _positions(mask for uops, _ in folded for mask, _ in uops)
    barycentre = _barycentre(position)
    groups = sorted(folded, key=lambda key: (*barycentre(key[0]), folded[key][0]))
    return {
        "ports": list(mapping.ports),
        "uops": [{**uop_json(mask, mapping.ports), "hidden": mask in hidden} for mask in position],
        "groups": [
            {
                "schemes": folded[uops, hidden_text],
                "uops": sorted(
                    ({"uop": position[mask], "count": count} for mask, count in uops), key=lambda u: u["uop"]
                ),
                "usage": described(uops, mapping.ports),
                "hidden": hidden_text,
            }
            for uops, hidden_text in groups
        ],
    }


def comparison_graph(comparison: MappingComparison) -> Json:
    """Two mappings in one graph, differences first: as from `tripartite` with the comparison's ports, and

    - `counts`: how many schemes there are of each `kind`;
    - `groups` have a `kind` (a `SchemeRelation`), and hold schemes that have equal µops in the first mapping
      and equal ones in the second. Their µops have `count` in the first and `there` in the second, 0 where
      there are none of them. `hidden` says so where only µops differ that no experiment can show.
    """
    folded: dict[tuple[SchemeRelation, Uops | None, Uops | None], list[ComparedScheme]] = {}
    for compared_scheme in comparison.schemes:
        folded.setdefault((compared_scheme.kind, *compared_scheme.uops), []).append(compared_scheme)
    position = _positions(mask for _, *both in folded for uops in both for mask, _ in uops or ())
    barycentre = _barycentre(position)

    def place(key: tuple[SchemeRelation, Uops | None, Uops | None]) -> tuple[object, ...]:
        kind, here, there = key
        first = folded[key][0]
        return _ORDER[kind], -first.factor, *barycentre((*(here or ()), *(there or ()))), first.scheme

    return {
        "ports": list(comparison.ports),
        "uops": [uop_json(mask, comparison.ports) for mask in position],
        "counts": {
            kind.value: sum(len(members) for key, members in folded.items() if key[0] is kind)
            for kind in SchemeRelation
        },
        "groups": [
            {
                "kind": kind.value,
                "schemes": [compared_scheme.scheme for compared_scheme in folded[kind, here, there]],
                "uops": _both(here, there, position),
                "usage": _usage(kind, here, there, comparison.ports),
                "hidden": "all that differs" if folded[kind, here, there][0].differs_in_hidden else "",
            }
            for kind, here, there in sorted(folded, key=place)
        ],
    }


def with_facets(model: Json, facts: Mapping[str, Sequence[str]]) -> Json:
    """The graph with the properties by which its schemes can be filtered.

    `facts`: {scheme text: a value for each of `FACETS`}. The model gains `facets`, {name: values, sorted},
    and its groups `facets`, for each scheme the places of its values in these.
    """
    values = {name: sorted({row[place] for row in facts.values()}) for place, name in enumerate(FACETS)}
    places = [{value: k for k, value in enumerate(values[name])} for name in FACETS]
    groups = [
        {
            **group,
            "facets": [
                [value_facts[value] for value_facts, value in zip(places, facts[text], strict=True)]
                for text in group["schemes"]
            ],
        }
        for group in model["groups"]
    ]
    return {**model, "facets": values, "groups": groups}


def with_conflicts(model: Json, conflicts: Mapping[str, Sequence[str]]) -> Json:
    """The graph with contradictions of its schemes, {scheme text: sentences}.

    Its groups gain `conflicts`, {place in `schemes`: sentences}, empty for none.
    """
    groups = [
        {
            **group,
            "conflicts": {
                str(place): list(conflicts[text])
                for place, text in enumerate(group["schemes"])
                if text in conflicts
            },
        }
        for group in model["groups"]
    ]
    return {**model, "groups": groups}


def _positions(masks: Iterable[int]) -> dict[int, int]:
    """{port set: its place from the top}."""
    return {mask: k for k, mask in enumerate(sorted(set(masks), key=_barycentre_of_ports))}


def _barycentre_of_ports(mask: int) -> tuple[float, int, int]:
    return (fmean(ports_in(mask)), mask.bit_count(), mask)


def _barycentre(position: Mapping[int, int]) -> Callable[[Uops], tuple[float, list[int]]]:
    def of(uops: Uops) -> tuple[float, list[int]]:
        places = sorted(position[mask] for mask, _ in uops)
        return (fmean(places) if places else len(position), places)  # schemes without ports come last

    return of


def _both(here: Uops | None, there: Uops | None, position: Mapping[int, int]) -> list[Json]:
    first, second = dict(here or ()), dict(there or ())
    return sorted(
        (
            {"uop": position[mask], "count": first.get(mask, 0), "there": second.get(mask, 0)}
            for mask in first.keys() | second.keys()
        ),
        key=lambda uop: uop["uop"],
    )


def _usage(kind: SchemeRelation, here: Uops | None, there: Uops | None, ports: Sequence[str]) -> str:
    if kind is SchemeRelation.EQUAL:
        return described(here or (), ports)
    first, second = ("not described" if uops is None else described(uops, ports) for uops in (here, there))
    return f"here {first}, there {second}"


_DIGITS = 9  # enough for any picture, without the last bits, which differ between computers


def buckets(schedule: Schedule) -> Json:
    """A schedule as JSON, with one bucket per port:

    - `cycles`, `port_cycles`: heights of the bounds; `limited_by`: "ports", "instructions" or "slots";
    - `limits`: [{"name", "cycles", "blocks": [{"scheme", "bottom", "height"}]}]: columns beside the ports;
    - `schemes`: texts; `uops`: as from `uop_json`;
    - `ports`: {"name", "load", "least", "greatest", "bottleneck": bool, "blocks": [{"scheme", "uop",
      "bottom", "height"}]} with indices into `schemes` and `uops`, blocks from the bottom up, in cycles.

    The load of a port can be anything from `least` to `greatest` without the experiment taking longer.
    µops with few ports lie at the bottom.
    """
    masks = sorted({mask for mask, _ in schedule.shares}, key=lambda mask: (mask.bit_count(), mask))
    schemes = list(schedule.scheme_shares)
    return {
        "cycles": round(schedule.cycles, _DIGITS),
        "port_cycles": round(schedule.port_cycles, _DIGITS),
        "limited_by": schedule.limited_by,
        "limits": [_limit(schedule, unit, schemes) for unit in schedule.limits],
        "schemes": schemes,
        "uops": [uop_json(mask, schedule.ports) for mask in masks],
        "ports": [
            {
                "name": name,
                "load": round(schedule.loads[port], _DIGITS),
                "least": round(schedule.intervals[port].least, _DIGITS),
                "greatest": round(schedule.intervals[port].greatest, _DIGITS),
                "bottleneck": port in schedule.bottleneck,
                "blocks": _stack(schedule, port, masks, schemes),
            }
            for port, name in enumerate(schedule.ports)
        ],
    }


def _limit(schedule: Schedule, limit_name: str, schemes: list[str]) -> Json:
    """A limit outside the ports as a bucket of its own, with each scheme's share of it."""
    shares = schedule.slots if limit_name == SLOTS else schedule.counts
    cycles, total = schedule.limits[limit_name], sum(shares.values())
    blocks, bottom = [], 0.0
    for index, scheme in enumerate(schemes):
        height = cycles * shares[scheme] / total
        blocks.append({"scheme": index, "bottom": round(bottom, _DIGITS), "height": round(height, _DIGITS)})
        bottom += height
    return {"name": limit_name, "cycles": round(cycles, _DIGITS), "blocks": blocks}


def _stack(schedule: Schedule, port: int, masks: list[int], schemes: list[str]) -> list[Json]:
    blocks = []
    bottom = 0.0
    for uop, mask in enumerate(masks):
        for index, scheme in enumerate(schemes):
            height = schedule.scheme_shares[scheme].get((mask, port), 0.0)
            if round(height, _DIGITS) > 0:
                blocks.append(
                    {
                        "scheme": index,
                        "uop": uop,
                        "bottom": round(bottom, _DIGITS),
                        "height": round(height, _DIGITS),
                    }
                )
                bottom += height
    return blocks

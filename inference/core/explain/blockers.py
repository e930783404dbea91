"""Blocking instructions of classes with their ports, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference.core.explain.flooding import Blocker, is_wide
from inference.core.explain.problem import BlockingClass
from inference.core.mapping import PortMapping


@dataclass(frozen=True)
class Improper:
    """A scheme of two µops, one with a blocking instruction's ports, one on `width` ports that none has."""

    scheme: str
    width: int


def only_mask(mapping: PortMapping, scheme: str) -> int:
    """The port set of a scheme with µops on one port set only."""
    ((mask, _),) = mapping.usage[scheme]
    return mask


def improper_mask(mapping: PortMapping, improper: Improper, heads: Iterable[str]) -> int | None:
    """The port set that an improper blocking instruction blocks; None where it has no such µop."""
    proper = {only_mask(mapping, head) for head in heads}
    own_masks = [mask for mask, _ in mapping.usage[improper.scheme] if mask not in proper]
    return own_masks[0] if len(own_masks) == 1 and own_masks[0].bit_count() == improper.width else None


def blockers_of(
    classes: Sequence[list[str]], improper: Sequence[Improper], mapping: PortMapping, r_max: float | None
) -> list[Blocker]:
    """The blocking instructions with their ports in a mapping, one for each port set."""
    blockers: dict[int, Blocker] = {}
    for members in classes:
        mask = only_mask(mapping, members[0])
        wide = is_wide(mask.bit_count(), r_max)
        substitutes = tuple(members[1:])
        blockers.setdefault(mask, Blocker(members[0], mask, wide, substitutes=substitutes))
    for scheme in improper:
        blocked = improper_mask(mapping, scheme, [members[0] for members in classes])
        if blocked is not None:
            blockers.setdefault(
                blocked, Blocker(scheme.scheme, blocked, is_wide(blocked.bit_count(), r_max), improper=True)
            )
    return list(blockers.values())


def class_table(
    classes: Sequence[list[str]],
    improper: Sequence[Improper],
    mapping: PortMapping | None,
    widths: Mapping[str, int],
) -> list[BlockingClass]:
    """The rows of Tables 6.1 and 6.2: proper classes first, the widest first.

    Args:
        classes: Classes of schemes, the blocking instruction first.
        improper: Improper blocking instructions.
        mapping: Ports of the blocking instructions; without one, port sets are 0.
        widths: {scheme: size of its port set}.
    """
    table = [
        BlockingClass(
            members[0],
            widths[members[0]],
            0 if mapping is None else only_mask(mapping, members[0]),
            tuple(members),
        )
        for members in classes
    ]
    for scheme in improper if mapping is not None else ():
        assert mapping is not None
        mask = improper_mask(mapping, scheme, [members[0] for members in classes]) or 0
        beside = tuple(uop for uop in mapping.usage[scheme.scheme] if uop[0] != mask)
        table.append(BlockingClass(scheme.scheme, scheme.width, mask, (scheme.scheme,), True, beside))
    return sorted(table, key=lambda row: (row.improper, -row.width, row.mask))

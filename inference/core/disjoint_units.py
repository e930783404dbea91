"""Units that share some ports, moved apart.

Where schedulers waste, units that bind µops to ports in vain look as if they shared some of these: three
multiplications and three shifts on six ports take as long as on five. Only with what a scheduler wastes can
both mappings be compared, so each is a candidate of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from inference.core.mapping import ports_in


def disjoint_units(kinds: Sequence[int]) -> Iterator[tuple[int, int]]:
    """For each two units that share ports among those of a third with room for both: one moved off the other.

    Args:
        kinds: Port sets as masks, each once. Of two units the later one moves, into the first third one.

    Yields:
        (port set, the one in its place).
    """
    for unmoved, moved in combinations(kinds, 2):
        shared = unmoved & moved
        if not shared or shared in (unmoved, moved):
            continue
        around = [wide for wide in kinds if wide not in (unmoved, moved) and not (unmoved | moved) & ~wide]
        free = [port for wide in around[:1] for port in ports_in(wide & ~(unmoved | moved))]
        if len(free) >= shared.bit_count():
            yield moved, moved & ~shared | sum(1 << port for port in free[: shared.bit_count()])

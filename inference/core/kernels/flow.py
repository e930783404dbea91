"""The densest set of ports by maximum flow, compiled: `inference.core.flow` says why that is right.

Polynomial whatever the port sets look like, but slower than looking at unions where these are few.
"""

from __future__ import annotations

import numpy as np

from inference.core.arrays import Integers
from inference.core.compiling import compiled_in_place
from inference.core.kernels.layout import PORTS, Number


@compiled_in_place
def densest_by_flow(
    kinds: Integers,
    amounts: Integers,
    n: Number,
    mass: Number,
    width: Number,
    placed: Integers,
    ports: Integers,
) -> tuple[Number, Number]:
    """µops by ports of the densest set of the first n kinds; `mass` µops on `width` ports is a first guess.

    Dinkelbach's iteration: with ports that hold `mass` each and µops of size `width`, what does not fit is
    confined to ports that are denser than the guess. Scratch: `placed` int64[≥ n, PORTS], `ports`
    int64[4, PORTS].
    """
    while True:
        overfull = _pack(kinds, amounts, n, mass, width, placed, ports)
        if overfull == 0:
            return mass, width
        mass, width = np.int64(0), np.int64(0)
        for k in range(n):
            if kinds[k] & ~overfull == 0:
                mass += amounts[k]
        for port in range(PORTS):
            width += np.int64((overfull >> np.uint64(port)) & np.uint64(1))


@compiled_in_place
def _pack(
    kinds: Integers,
    amounts: Integers,
    n: Number,
    capacity: Number,
    size: Number,
    placed: Integers,
    ports: Integers,
) -> Number:
    """Put `size` units of each µop on ports that hold `capacity` units; returns the ports that overflow."""
    load = ports[0]
    through = ports[1]  # the kind that would push its units onto a port
    source = ports[2]  # the port that they would leave, -1 for units not placed yet
    queue = ports[3]
    placed[:n] = 0
    load[:] = 0
    overfull = np.uint64(0)
    for kind in range(n):
        left = amounts[kind] * size
        while left:
            end, reached = _path_to_room(kinds, n, kind, capacity, placed, load, through, source, queue)
            if end < 0:
                overfull |= reached
                break
            moved = min(left, capacity - load[end])
            port = end
            while source[port] >= 0:
                moved = min(moved, placed[through[port], source[port]])
                port = source[port]
            load[end] += moved
            port = end
            while port >= 0:
                placed[through[port], port] += moved
                if source[port] >= 0:
                    placed[through[port], source[port]] -= moved
                port = source[port]
            left -= moved
    return overfull


@compiled_in_place
def _path_to_room(
    kinds: Integers,
    n: Number,
    start: Number,
    capacity: Number,
    placed: Integers,
    load: Integers,
    through: Integers,
    source: Integers,
    queue: Integers,
) -> tuple[Number, Number]:
    """Breadth first from the ports of one kind to one with room, -1 if there is none; and all ports seen."""
    seen = np.uint64(0)
    head, tail = 0, 0
    pusher, origin = start, -1
    while True:
        for port in range(PORTS):
            bit = np.uint64(1) << np.uint64(port)
            if kinds[pusher] & bit and not seen & bit:
                seen |= bit
                through[port] = pusher
                source[port] = origin
                if load[port] < capacity:
                    return port, seen
                queue[tail] = port
                tail += 1
        # The next kind that has units on a port in the queue and could move them elsewhere.
        pusher = -1
        while head < tail:
            origin = queue[head]
            for other in range(n):
                if placed[other, origin] and kinds[other] & ~seen:
                    pusher = other
                    break
            if pusher >= 0:
                break
            head += 1
        if pusher < 0:
            return -1, seen

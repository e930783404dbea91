"""Which stores a load gets its bytes from, while instructions are executed one after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from inference.isa.dependences import MEMORY_BYTES, MemoryPlace

Value = tuple[tuple[int, float], ...]
"""(µop, cycles from its issue on) of each result that a value needs; () for what was there from the start."""


def join(*values: Value) -> Value:
    """What is ready with the last of some values."""
    cycles_of: dict[int, float] = {}
    for value in values:
        for uop, cycles in value:
            cycles_of[uop] = max(cycles_of.get(uop, cycles), cycles)
    return tuple(cycles_of.items())


def later(value: Value, cycles: float) -> Value:
    return tuple((uop, ready + cycles) for uop, ready in value) if cycles else value


class Store(NamedTuple):
    """A store as executed: where it went in that iteration, and how many stores came before."""

    place: MemoryPlace
    value: Value
    number: int
    vector: bool


class LoadedBytes(NamedTuple):
    """Where a load goes, and the stores that wrote there; `is_contained`: the only one wrote all of it."""

    place: MemoryPlace
    stores: tuple[Store, ...]
    is_contained: bool


class StoreBuffer:
    """The last store to each byte. Pages of one memory are the same bytes, as in the frame of blocks.

    Places that move on by different distances meet in single iterations, which are no steady state: they
    never meet here.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[object, int, int], Store] = {}
        self._count = 0

    def store(self, place: MemoryPlace, iteration: int, value: Value, *, vector: bool) -> None:
        store = Store(_in_iteration(place, iteration), value, self._count, vector)
        self._count += 1
        for byte in _bytes(store.place):
            self._last[byte] = store

    def load(self, place: MemoryPlace, iteration: int) -> LoadedBytes:
        moved = _in_iteration(place, iteration)
        writers = [self._last.get(byte) for byte in _bytes(moved)]
        stores = {store.number: store for store in writers if store is not None}
        return LoadedBytes(moved, tuple(stores.values()), len(stores) == 1 and None not in writers)


def _in_iteration(place: MemoryPlace, iteration: int) -> MemoryPlace:
    page, offset = place.page, place.offset + iteration * (place.step or 0)
    if page:
        page, offset = divmod(page * MEMORY_BYTES + offset, MEMORY_BYTES)
    return place._replace(page=page, offset=offset)


def _bytes(place: MemoryPlace) -> Iterator[tuple[object, int, int]]:
    """Keys of the bytes of an access; none where its address is not known, which meets no other."""
    if place.address is None or place.step is None:
        return
    for byte in range(place.offset, place.offset + place.bits // 8):
        yield place.address, place.step, byte % MEMORY_BYTES

"""Blocks in batches for tools that take many at a time, and what to do when a batch fails as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")
Reply = TypeVar("Reply")

Ask = Callable[[Sequence[Item]], tuple[Sequence[Reply | None], Reply]]
"""Answers for a batch, None where none came, and what is to be said of a single item without an answer."""

_FEW = 16
"""A batch is not cut smaller for the sake of a second process."""


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def in_batches(
    items: Sequence[Item], ask: Ask[Item, Reply], most: int, pool: ThreadPoolExecutor
) -> list[Reply]:
    """Ask for all items, in batches of at most `most` that keep the threads of the pool busy."""
    batches = list(pool.map(lambda batch: persistently(batch, ask), _cut(items, most)))
    return [answer for batch in batches for answer in batch]


def persistently(items: Sequence[Item], ask: Ask[Item, Reply]) -> list[Reply]:
    """Ask again for what got no answer: all of it where there was progress, else in halves.

    So one item that makes a tool crash or hang costs a few more calls, and the others get their answers.
    """
    found: list[Reply | None] = [None] * len(items)
    left = [list(range(len(items)))] if items else []
    while left:
        batch = left.pop()
        answers, otherwise = ask([items[index] for index in batch])
        unanswered = []
        for index, answer in zip(batch, answers, strict=True):
            found[index] = answer
            if answer is None:
                unanswered.append(index)
        if len(batch) == 1 and unanswered:
            found[batch[0]] = otherwise
        elif len(unanswered) < len(batch):
            left += [unanswered] if unanswered else []
        else:
            middle = len(batch) // 2
            left += [batch[:middle], batch[middle:]]
    return [answer for answer in found if answer is not None]


def _cut(items: Sequence[Item], most: int) -> list[Sequence[Item]]:
    count = max(-(-len(items) // most), min(cores(), len(items) // _FEW))
    ends = [len(items) * k // max(count, 1) for k in range(count + 1)]
    return [items[begin:end] for begin, end in pairwise(ends)] if count else [items]

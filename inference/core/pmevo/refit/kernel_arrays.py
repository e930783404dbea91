"""Named tuples of the arrays that the compiled loops of a re-fit work on. Numba is not loaded."""

from __future__ import annotations

from typing import Any, NamedTuple

from inference.core.tables import Floats, Integers

Number = Any


class RefitMixes(NamedTuple):
    """All experiments: compressed rows of scheme numbers and repeats; `floor` and `measured` in cycles.

    `of_scheme[starts[s]:starts[s + 1]]` are the experiments that contain scheme s.
    """

    offsets: Integers
    scheme: Integers
    repeats: Integers
    floor: Floats
    measured: Floats
    starts: Integers
    of_scheme: Integers


class RefitRows(NamedTuple):
    """A mapping: `masks` and `counts` [n_schemes, MAX_KINDS], of which the first `sizes[s]` are in use.

    `slots` [n_schemes]: issue slots.
    """

    masks: Integers
    counts: Integers
    sizes: Integers
    slots: Integers


class UsedKinds(NamedTuple):
    """The kinds of µops that other schemes use, ascending, and how rare each is: see `Usage.used_beside`."""

    kinds: Integers
    rarity: Floats
    rarest: float


class RefitSurroundings(NamedTuple):
    """The other schemes in the experiments of one scheme: unions of port sets, with the µops inside each.

    `ends[i]`: end of the unions of the i-th experiment; the empty union comes first.

    Attributes:
        alone: Cycles without the scheme.
        beside: Issue slots without it.
        repeats: Repeats of the scheme.
        measured: Cycles of the experiment. The other arrays are scratch; `best_slots` has one number, the
            slots that belong to `best`.
    """

    unions: Integers
    masses: Floats
    ends: Integers
    alone: Floats
    beside: Floats
    repeats: Floats
    measured: Floats
    kinds: Integers
    amounts: Floats
    widths: Floats  # 1 / number of ports
    tried: Integers
    tried_counts: Floats
    joint: Integers
    joint_counts: Floats
    best: Integers
    best_counts: Floats
    best_slots: Integers
    start_masks: Integers
    start_counts: Floats

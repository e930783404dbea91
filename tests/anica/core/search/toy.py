"""A tiny instruction set with an abstract domain whose every set can be listed, and predictors by function.

An instruction is a name of two characters, the first of which is its family, with one register. Blocks are
tuples of them; machine code is their text.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

from inference.predictors.protocol import Answer

NAMES = ("a1", "a2", "b1", "b2")
REGISTERS = ("x", "y")
EVERYTHING = tuple(name + register for name in NAMES for register in REGISTERS)
MUST, MUST_NOT = "must", "must not"


@dataclass(frozen=True)
class Abstract:
    """Per instruction (name or None, family or None); per pair of places (i < j) must or must not alias."""

    instructions: tuple[tuple[str | None, str | None], ...]
    aliasing: frozenset[tuple[int, int, str]]


class ToyDomain:
    """See the module; `names` are those that are sampled."""

    def __init__(self, names=NAMES):
        self.names = names

    def represent(self, block):
        pairs = itertools.combinations(range(len(block)), 2)
        return Abstract(
            tuple((one[:2], one[0]) for one in block),
            frozenset((i, j, MUST if block[i][2] == block[j][2] else MUST_NOT) for i, j in pairs),
        )

    def expansions(self, abstract):
        found = [
            ("name" if part == 0 else "family", place)
            for place, parts in enumerate(abstract.instructions)
            for part in (0, 1)
            if parts[part] is not None
        ]
        return [*found, *(("alias", pair) for pair in sorted(abstract.aliasing))]

    def precedence(self, expansion):
        return 0

    def small_expansions(self, abstract):
        return []

    def expand(self, abstract, expansion):
        what, where = expansion
        if what == "alias":
            return Abstract(abstract.instructions, abstract.aliasing - {where})
        parts = list(abstract.instructions)
        name, family = parts[where]
        parts[where] = (None, family) if what == "name" else (name, None)
        return Abstract(tuple(parts), abstract.aliasing)

    def sample(self, abstract, random):
        found = self.listed(abstract)
        return random.choice(found) if found else None

    def sample_new(self, special, general, random):
        found = sorted(set(self.listed(general)) - set(self.listed(special)))
        return random.choice(found) if found else None

    @cache  # noqa: B019 as many as there are abstract blocks
    def listed(self, abstract):
        names = [self._names(parts) for parts in abstract.instructions]
        choices = [[name + register for name in some for register in REGISTERS] for some in names]
        return [block for block in itertools.product(*choices) if self._aliases(abstract, block)]

    def _names(self, parts):
        name, family = parts
        return [one for one in self.names if name in (None, one) and family in (None, one[0])]

    def _aliases(self, abstract, block):
        return all((block[i][2] == block[j][2]) == (how == MUST) for i, j, how in abstract.aliasing)

    def contains(self, abstract, block):
        return (
            len(block) == len(abstract.instructions)
            and all(
                one[:2] in self._names(parts) for one, parts in zip(block, abstract.instructions, strict=True)
            )
            and self._aliases(abstract, block)
        )

    def same_meaning(self, special, general):
        return self.listed(special) == self.listed(general)

    def subsumes(self, general, special):
        n, m = len(general.instructions), len(special.instructions)
        for places in itertools.combinations(range(m), n):
            for turn in range(n):
                if self._maps(general, special, places[turn:] + places[:turn]):
                    return True
        return False

    def _maps(self, general, special, to):
        held = {(*sorted((i, j)), how) for i, j, how in special.aliasing}
        return all(
            set(self._names(special.instructions[to[place]])) <= set(self._names(parts))
            for place, parts in enumerate(general.instructions)
        ) and all((*sorted((to[i], to[j])), how) in held for i, j, how in general.aliasing)

    def without(self, block, position):
        return block[:position] + block[position + 1 :]

    def unconstrained(self, length):
        return Abstract(((None, None),) * length, frozenset())

    def generality(self, abstract):
        return min(len(self._names(parts)) for parts in abstract.instructions)

    def code(self, block):
        return " ".join(block).encode()

    def block_of_code(self, code):
        block = tuple(code.decode().split())
        return block if block and all(one in EVERYTHING for one in block) else None

    def document(self, abstract):
        return {
            "instructions": [list(parts) for parts in abstract.instructions],
            "aliasing": [list(one) for one in sorted(abstract.aliasing)],
        }

    def read(self, document):
        return Abstract(
            tuple((name, family) for name, family in document["instructions"]),
            frozenset((i, j, how) for i, j, how in document["aliasing"]),
        )

    def expansion_document(self, expansion):
        return {"what": expansion[0], "where": expansion[1]}

    def read_expansion(self, document):
        where = document["where"]
        return document["what"], tuple(where) if isinstance(where, list) else where


def abstract_of(domain, *instructions, aliasing=()):
    """An abstract block from names, families or "" for no constraint."""
    parts = []
    for one in instructions:
        family = one[:1] or None
        parts.append((one if len(one) > 1 else None, family if len(one) == 1 else None))
    return Abstract(tuple(parts), frozenset(aliasing))


class Scripted:
    """A predictor that answers what a function of the block says: cycles or a failure."""

    def __init__(self, name, answer):
        self.name = name
        self.identity = {"kind": "scripted", "name": name}
        self._answer = answer
        self.asked = []
        self.closed = False

    def predict(self, blocks):
        self.asked.append(list(blocks))
        return [self._one(tuple(code.decode().split())) for code in blocks]

    def _one(self, block):
        answer = self._answer(block)
        return Answer(cycles=answer) if isinstance(answer, int | float) else Answer(failure=answer)

    def close(self):
        self.closed = True


def plain(block):
    """A cycle per instruction: what a planted fault is added to."""
    return float(len(block))


class Quiet:
    """A reporter that keeps what it is told."""

    def __init__(self, pulse=lambda: None):
        self.events = []
        self._pulse = pulse

    def emit(self, event):
        self.events.append(event)

    def save(self, checkpoint):
        raise AssertionError("checkpoints go to the store")

    def pulse(self):
        self._pulse()


class MemoryStore:
    """A store in memory."""

    def __init__(self):
        self.updates = []
        self.checkpoint = None

    def save_update(self, update, checkpoint):
        self.updates.append(update)
        self.checkpoint = checkpoint

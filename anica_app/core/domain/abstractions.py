"""The four abstractions of a feature's values (Table 8.2).

Each is a partially ordered set of abstract values with a largest one, ⊤, which is `None` in all of them and
constrains nothing. A value represents a set of concrete values (γ), and each concrete value has a best
representation (β). *Steps* are expansions to immediate successors, as in the paper; *small steps* stop
earlier. A step has a name and is the same function for all values that it applies to: "" is the only step of
a value with one successor; a step of a set drops the element that it names, a small one replaces it by weaker
elements.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from functools import cache, lru_cache
from typing import Any, Final, Generic, Literal, TypeVar

from anica_app.core.errors import AnicaError

ConcreteT = TypeVar("ConcreteT", bound=Hashable)
AbstractT = TypeVar("AbstractT", bound=Hashable)

UP: Final = ""
"""The step of values with a single immediate successor."""

FOR: Final = " > "
AND: Final = " & "
"""Between an element and what takes its place, and between these: the step `cf:RW > cf:R & cf:W`."""

NO_ELEMENTS: Final = "none"
"""DefNone in `Subsets`: the feature has no elements."""


class Abstraction(ABC, Generic[ConcreteT, AbstractT]):
    """Abstract values of one feature, of which `None` is ⊤."""

    @abstractmethod
    def represent(self, value: ConcreteT) -> AbstractT | None:
        """β: the most special abstract value that represents this one."""

    @abstractmethod
    def represents(self, abstract: AbstractT, value: ConcreteT) -> bool:
        """Whether the value is in γ of an abstract value other than ⊤."""

    @abstractmethod
    def below(self, special: AbstractT, general: AbstractT) -> bool:
        """⊑ between values other than ⊤."""

    def steps(self, abstract: AbstractT) -> tuple[str, ...]:
        """The steps that apply to a value other than ⊤, in a fixed order."""
        return (UP,)

    def small_steps(self, abstract: AbstractT) -> tuple[str, ...]:
        """Steps that relax less than those of `steps`, the longest first.

        They are tried for values whose full steps are rejected.
        """
        return ()

    @abstractmethod
    def expand(self, abstract: AbstractT, step: str) -> AbstractT | None:
        """What one of its steps, small ones included, leads to."""

    @abstractmethod
    def document(self, abstract: AbstractT) -> Any:
        """A value other than ⊤ as JSON that people can read."""

    @abstractmethod
    def read(self, document: Any) -> AbstractT:
        """The value of a document. Raises `AnicaError` for an invalid one."""

    def is_below(self, special: AbstractT | None, general: AbstractT | None) -> bool:
        if general is None:
            return True
        return special is not None and self.below(special, general)


class Singletons(Abstraction[str, tuple[str, ...]]):
    """One value, or any: a flat order below ⊤.

    A value is a tuple of alternative words. β returns tuples of one word; longer ones stand for a word of an
    imported file that has several counterparts here. Only ⊤ is above either.
    """

    def represent(self, value: str) -> tuple[str, ...]:
        return (value,)

    def represents(self, abstract: tuple[str, ...], value: str) -> bool:
        return value in abstract

    def below(self, special: tuple[str, ...], general: tuple[str, ...]) -> bool:
        """Nothing but the same is below a value."""
        return special == general

    def expand(self, abstract: tuple[str, ...], step: str) -> None:
        return

    def document(self, abstract: tuple[str, ...]) -> Any:
        """The word, or a list of several."""
        return abstract[0] if len(abstract) == 1 else list(abstract)

    def read(self, document: Any) -> tuple[str, ...]:
        """A word or a list of words."""
        words = [document] if isinstance(document, str) else document
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            raise AnicaError(f"a word or a list of words is wanted, not {document!r}")
        return tuple(words) if len(words) == 1 else tuple(sorted(set(words)))


class EditDistances(Abstraction[str, tuple[str, int]]):
    """All words within a Levenshtein distance of a base word: up to `most` edits, then ⊤."""

    def __init__(self, most: int) -> None:
        self._most = most

    def represent(self, value: str) -> tuple[str, int]:
        """The word itself, without an edit."""
        return value, 0

    def represents(self, abstract: tuple[str, int], value: str) -> bool:
        """Whether the base can be edited into the value with at most so many edits."""
        base, edits = abstract
        return abs(len(base) - len(value)) <= edits and edit_distance(base, value) <= edits

    def below(self, special: tuple[str, int], general: tuple[str, int]) -> bool:
        """Only values with the same base are ordered, by their edits."""
        return special[0] == general[0] and special[1] <= general[1]

    def expand(self, abstract: tuple[str, int], step: str) -> tuple[str, int] | None:
        """One edit more, after the last one ⊤."""
        base, edits = abstract
        return (base, edits + 1) if edits < self._most else None

    def document(self, abstract: tuple[str, int]) -> Any:
        return {"base": abstract[0], "edits": abstract[1]}

    def read(self, document: Any) -> tuple[str, int]:
        match document:
            case {"base": str(base), "edits": int(edits)} if len(document) == 2 and 0 <= edits <= self._most:
                return base, edits
        raise AnicaError(f'{{"base": a mnemonic, "edits": 0 to {self._most}}} is wanted, not {document!r}')


class LogSizes(Abstraction[int | None, int]):
    """Fewer than 2^k, for k up to `most`, then ⊤; an unknown size is ⊤.

    β is the thesis's: the paper's own does not represent sizes that are powers of two.
    """

    def __init__(self, most: int) -> None:
        self._most = most

    def represent(self, value: int | None) -> int | None:
        """⌊log₂ n⌋ + 1, 0 for 0; ⊤ from 2^most on, and for an unknown size."""
        if value is None or value >= 2**self._most:
            return None
        return value.bit_length()

    def represents(self, abstract: int, value: int | None) -> bool:
        """Whether there are fewer than 2^abstract."""
        return value is not None and value < 2**abstract

    def below(self, special: int, general: int) -> bool:
        return special <= general

    def expand(self, abstract: int, step: str) -> int | None:
        """One power of two more, after the last one ⊤."""
        return abstract + 1 if abstract < self._most else None

    def document(self, abstract: int) -> Any:
        """{"fewer_than": 2^k}, an exclusive bound."""
        return {"fewer_than": 2**abstract}

    def read(self, document: Any) -> int:
        match document:
            case {"fewer_than": int(bound)} if len(document) == 1 and bound > 0 and bound.bit_count() == 1:
                if bound <= 2**self._most:
                    return bound.bit_length() - 1
        raise AnicaError(
            f'{{"fewer_than": a power of two up to {2**self._most}}} is wanted, not {document!r}'
        )


Elements = frozenset[str] | Literal["none"]
"""An abstract value of `Subsets`."""


def _implies_nothing(_element: str) -> frozenset[str]:
    return frozenset()


class Subsets(Abstraction[frozenset[str], Elements]):
    """Subset-or-none: at least these elements, or definitely none.

    The empty set represents values with at least one element. By the formula of Table 8.2 it would represent
    all values, and the step to ⊤ would change nothing; the published tool has it as here (`is_in_subfeature`
    without a `subfeature`), where "accesses memory in some way" is a discovery and "may access memory" is not
    one.

    `weaker`: the next weaker elements that an element implies, as `size:64` implies `size<=64`. With
    `gradual` an element can be replaced by one that it implies, so that a set can state "at most 64 bits";
    the paper's sets have no value between "64 bits" and any size. No element of an abstract value implies
    another one.
    """

    def __init__(
        self, weaker: Callable[[str], frozenset[str]] = _implies_nothing, *, gradual: bool = True
    ) -> None:
        self._weaker = weaker
        self._gradual = gradual
        self._implied = cache(self._implied_by)

    def represent(self, value: frozenset[str]) -> Elements:
        """The elements, or that there are none."""
        return value or NO_ELEMENTS

    def represents(self, abstract: Elements, value: frozenset[str]) -> bool:
        """Whether the value has all elements of the set; for `NO_ELEMENTS`, whether it has none."""
        if isinstance(abstract, str):
            return not value
        return bool(value) and abstract <= self._implied(value)

    def below(self, special: Elements, general: Elements) -> bool:
        """Whether `value` has all elements of the other, or stronger ones.

        `NO_ELEMENTS` is comparable to itself alone.
        """
        if isinstance(special, str) or isinstance(general, str):
            return special == general
        return general <= self._implied(special)

    def steps(self, abstract: Elements) -> tuple[str, ...]:
        """Dropping an element; where there is none to drop, to ⊤."""
        return tuple(sorted(abstract)) if abstract and not isinstance(abstract, str) else (UP,)

    def small_steps(self, abstract: Elements) -> tuple[str, ...]:
        """Replacing an element by a weaker one, or by all of its next weaker ones together."""
        if isinstance(abstract, str) or not self._gradual:
            return ()
        steps: list[tuple[int, str]] = []
        for element in abstract:
            together = self._weaker(element)
            places = [{implied} for implied in self._implied(frozenset((element,))) - {element}]
            places += [set(together)] if len(together) > 1 else []
            steps += [
                (len(self._implied(frozenset(weaker))), FOR.join((element, AND.join(sorted(weaker)))))
                for weaker in places
            ]
        return tuple(step for _, step in sorted(steps))

    def expand(self, abstract: Elements, step: str) -> frozenset[str] | None:
        """The set without the element, or with weaker ones in its place, or ⊤."""
        if not step or isinstance(abstract, str):
            return None
        element, _, weaker = step.partition(FOR)
        remaining = abstract - {element}
        return remaining | (frozenset(weaker.split(AND)) - self._implied(remaining)) if weaker else remaining

    def document(self, abstract: Elements) -> Any:
        return abstract if isinstance(abstract, str) else sorted(abstract)

    def read(self, document: Any) -> Elements:
        """A list of words, or "none"."""
        if document == NO_ELEMENTS:
            return NO_ELEMENTS
        if not isinstance(document, list) or not all(isinstance(word, str) and word for word in document):
            raise AnicaError(f'a list of words or "none" is wanted, not {document!r}')
        return frozenset(document)

    def _implied_by(self, elements: frozenset[str]) -> frozenset[str]:
        """The elements, and all that they imply."""
        implied, newest = set[str](), elements
        while newest:
            implied |= newest
            newest = frozenset[str]().union(*map(self._weaker, newest)) - implied
        return frozenset(implied)


@lru_cache(maxsize=1 << 17)
def edit_distance(word: str, other: str) -> int:
    """The Levenshtein distance: the least number of letters to insert, remove or replace.

    >>> edit_distance("vaddps", "addpd")
    2
    """
    row = list(range(len(other) + 1))
    for number, letter in enumerate(word, start=1):
        diagonal, row[0] = row[0], number
        for place, other_letter in enumerate(other, start=1):
            cost = diagonal if letter == other_letter else 1 + min(diagonal, row[place], row[place - 1])
            diagonal, row[place] = row[place], cost
    return row[-1]

"""Whether a family of one campaign is one of another: the same class of witnesses, the same bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from inference.core.protocols import Json


@dataclass(frozen=True, slots=True)
class FamilyIdentity:
    """What a family is known by, whatever the seed: how the tools disagree, and what about.

    `classes` are those that the family is about, `others` what its members are about besides.
    """

    kind: str
    slower: int
    bound: str
    classes: frozenset[str]
    others: frozenset[str] = frozenset()

    def as_json(self) -> Json:
        return {**asdict(self), "classes": sorted(self.classes), "others": sorted(self.others)}

    @classmethod
    def read(cls, document: Json) -> FamilyIdentity:
        sets = {name: frozenset(document[name]) for name in ("classes", "others")}
        return cls(**{**document, **sets})

    @property
    def way(self) -> tuple[str, int, str]:
        """How the tools disagree: the kind, which one is slower, which bound differs."""
        return self.kind, self.slower, self.bound

    def likeness(self, other: FamilyIdentity) -> int:
        """0 where they have nothing in common, else the more the more they have."""
        if self.way != other.way:
            return 0
        about = len(self.classes & other.classes)
        return 100 * about + len((self.classes | self.others) & (other.classes | other.others))


def matched(new: Sequence[FamilyIdentity], old: Sequence[FamilyIdentity]) -> Mapping[int, int]:
    """{place of a new family: place of the old one that it is}; several may be the same old one.

    Each class that a new one is about must be what an old one of its way is about: small families that were
    put together are the same only if all of them were there.
    """
    found = {}
    for place, one in enumerate(new):
        known = frozenset[str]().union(*(other.classes for other in old if other.way == one.way))
        closest = nearest(one, old)
        if closest is not None and one.classes <= known:
            found[place] = closest
    return found


def nearest(one: FamilyIdentity, old: Sequence[FamilyIdentity]) -> int | None:
    """The place of the old family that has most in common with this one; None where none has anything."""
    likeness = [one.likeness(other) for other in old]
    best = max(likeness, default=0)
    return likeness.index(best) if best else None

"""Whether a family of one campaign is one of another: the same class of witnesses, the same bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
        """For the database."""
        return {
            "kind": self.kind,
            "slower": self.slower,
            "bound": self.bound,
            "classes": sorted(self.classes),
            "others": sorted(self.others),
        }

    @classmethod
    def read(cls, document: Json) -> FamilyIdentity:
        """Back from `as_json`."""
        return cls(
            document["kind"],
            document["slower"],
            document["bound"],
            frozenset(document["classes"]),
            frozenset(document["others"]),
        )

    def likeness(self, other: FamilyIdentity) -> int:
        """0 where they are different families, else the more the more they have in common."""
        if (self.kind, self.slower, self.bound) != (other.kind, other.slower, other.bound):
            return 0
        about = len(self.classes & other.classes)
        return 100 * about + len((self.classes | self.others) & (other.classes | other.others))


def matched(new: Sequence[FamilyIdentity], old: Sequence[FamilyIdentity]) -> Mapping[int, int]:
    """{place of a new family: place of the old one that it is}; several may be the same old one."""
    found = {}
    for place, one in enumerate(new):
        likeness = [one.likeness(other) for other in old]
        best = max(likeness, default=0)
        if best:
            found[place] = likeness.index(best)
    return found

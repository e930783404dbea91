"""The schemes that the blocks of a campaign consist of; sets of them are numbers with a bit per scheme."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from anica_app.core.domain.dependencies import SchemeUse, scheme_use
from anica_app.core.domain.settings import SpaceSettings
from anica_app.core.errors import AnicaError
from inference.isa.operand_slots import BlockScheme, OperandChooser, Slots
from inference.isa.targets import DEFAULT, target_of

Bits = int
"""A set of schemes: bit n stands for the scheme with number n."""


class SchemeSpace:
    """Schemes in a fixed order, numbered from 0.

    `uops` are numbers of µops by scheme text, as far as they are known. Two spaces of the same texts in the
    same order are the same.
    """

    def __init__(
        self, members: Sequence[BlockScheme], uops: Mapping[str, int] | None = None, isa: str = DEFAULT
    ) -> None:
        """Raises `AnicaError` where there is no member, or none of `isa` can be abstracted."""
        if not members:
            raise AnicaError("no scheme is left to make blocks of: exclude fewer")
        self.isa = isa
        self.operands = operands_of(isa)
        self.members = tuple(members)
        self.schemes = tuple(member.scheme for member in members)
        self.texts = tuple(scheme.text for scheme in self.schemes)
        self.uops: Mapping[str, int] = dict(uops or {})
        self.all: Bits = (1 << len(self.texts)) - 1
        self.numbers = lru_cache(maxsize=1 << 12)(_numbers)
        """Numbers of the schemes in a set, ascending."""

    @classmethod
    def of(
        cls,
        settings: SpaceSettings | None = None,
        *,
        among: Iterable[str] | None = None,
        uops: Mapping[str, int] | None = None,
        isa: str = DEFAULT,
    ) -> SchemeSpace:
        """All that settings allow and that can be sampled; `among`: of these texts alone."""
        settings = settings or SpaceSettings()
        groups = target_of(isa).sampling_groups
        if strangers := settings.group_names.difference(groups):
            right = f"words of {', '.join(groups)}" if groups else "none"
            raise AnicaError(f"groups of schemes for {isa} are {right}, not {min(strangers)}")
        wanted = None if among is None else frozenset(among)
        schemes = operands_of(isa).block_schemes()
        allowed = [text for text, reason in reasons(settings, isa).items() if not reason]
        return cls([schemes[text] for text in allowed if wanted is None or text in wanted], uops, isa)

    @classmethod
    def listed(
        cls, texts: Iterable[str], uops: Mapping[str, int] | None = None, isa: str = DEFAULT
    ) -> SchemeSpace:
        """These schemes, which takes less time for few of them. Raises `AnicaError` for one that is none."""
        members = []
        for text in dict.fromkeys(texts):
            member = operands_of(isa).block_scheme(text)
            if member is None:
                raise AnicaError(f"there is no scheme {text!r} for {isa}")
            members.append(member)
        return cls(members, uops, isa)

    def __len__(self) -> int:
        return len(self.texts)

    def restricted(self, texts: Iterable[str]) -> SchemeSpace:
        """The same of these schemes alone, such as those that all tools support; others do not matter."""
        wanted = frozenset(texts)
        return SchemeSpace(
            [member for member in self.members if member.scheme.text in wanted], self.uops, self.isa
        )

    @cached_property
    def by_text(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self.texts)}

    @cached_property
    def slots(self) -> tuple[Slots, ...]:
        """Of each scheme, the operands that can alias."""
        return tuple(member.slots for member in self.members)

    @cached_property
    def slots_by_text(self) -> dict[str, Slots]:
        """{scheme text: its operands that can alias}."""
        return dict(zip(self.texts, self.slots, strict=True))

    @cached_property
    def uses(self) -> tuple[SchemeUse, ...]:
        """Of each scheme, what its instructions read and write."""
        return tuple(map(scheme_use, self.slots))


def reasons(settings: SpaceSettings, isa: str = DEFAULT) -> Mapping[str, str]:
    """{scheme text: why blocks do not have it, "" where they do}, in the order of the scheme set."""
    return _reasons(settings.group_names, settings.extension_names, isa)


@lru_cache(maxsize=8)
def _reasons(groups: frozenset[str], extensions: frozenset[str], isa: str) -> Mapping[str, str]:
    found = {}
    for text, member in operands_of(isa).block_schemes().items():
        needed = member.scheme.extension.split("+")
        missing = next((one for one in needed if extensions and one not in extensions), "")
        if missing:
            found[text] = f"needs {missing}, which is not among the extensions asked for"
        else:
            found[text] = member.obstacle(groups)
    return found


def operands_of(isa: str) -> OperandChooser[Any]:
    """The schemes and operands of an instruction set. Raises `AnicaError` where none are abstracted."""
    operands = target_of(isa).operands
    if operands is None:
        raise AnicaError(f"blocks of {isa} cannot be abstracted yet: choose another instruction set")
    return operands


def _numbers(bits: Bits) -> Sequence[int]:
    digits = bin(bits)[:1:-1]
    return array("H", [number for number, digit in enumerate(digits) if digit == "1"])

"""The schemes that the blocks of a campaign consist of; sets of them are numbers with a bit per scheme."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache

from anica_app.core.domain import places
from anica_app.core.domain.dependencies import SchemeUse, scheme_use
from anica_app.core.domain.sampleable import EVEX, why_not
from anica_app.core.domain.settings import SpaceSettings
from anica_app.core.errors import AnicaError
from inference.isa.scheme import Scheme
from inference.isa.x86.forms import Form
from inference.isa.x86.scheme_set import described, forms_by_text, schemes

Bits = int
"""A set of schemes: bit n stands for the scheme with number n."""


class SchemeSpace:
    """Schemes in a fixed order, numbered from 0.

    `uops` are numbers of µops by scheme text, as far as they are known. Two spaces of the same texts in the
    same order are the same.
    """

    def __init__(
        self, members: Mapping[str, tuple[Scheme, Form]], uops: Mapping[str, int] | None = None
    ) -> None:
        """`members` by text. Raises `AnicaError` where there is none at all."""
        if not members:
            raise AnicaError("no scheme is left to make blocks of: exclude fewer")
        self._members = members
        self.texts = tuple(members)
        self.schemes = tuple(scheme for scheme, _ in members.values())
        self.forms = tuple(form for _, form in members.values())
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
    ) -> SchemeSpace:
        """All that settings allow and that can be sampled; `among`: of these texts alone."""
        wanted = None if among is None else frozenset(among)
        left = reasons(settings or SpaceSettings()).items()
        return cls(
            {
                text: _all()[text]
                for text, reason in left
                if not reason and (wanted is None or text in wanted)
            },
            uops,
        )

    @classmethod
    def listed(cls, texts: Iterable[str], uops: Mapping[str, int] | None = None) -> SchemeSpace:
        """These schemes, which takes less time for few of them. Raises `AnicaError` for one that is none."""
        members = {}
        for text in texts:
            found = described(text)
            if found is None:
                raise AnicaError(f"there is no scheme {text!r} for x86-64")
            members[text] = found
        return cls(members, uops)

    def __len__(self) -> int:
        return len(self.texts)

    def restricted(self, texts: Iterable[str]) -> SchemeSpace:
        """The same of these schemes alone, such as those that all tools support; others do not matter."""
        wanted = frozenset(texts)
        return SchemeSpace({text: one for text, one in self._members.items() if text in wanted}, self.uops)

    @cached_property
    def by_text(self) -> dict[str, int]:
        """{scheme text: number}."""
        return {text: number for number, text in enumerate(self.texts)}

    @cached_property
    def slots(self) -> tuple[places.Slots, ...]:
        """Of each scheme, the operands that can alias."""
        return tuple(places.slots(scheme, form) for scheme, form in self._members.values())

    @cached_property
    def uses(self) -> tuple[SchemeUse, ...]:
        """Of each scheme, what its instructions read and write."""
        return tuple(map(scheme_use, self.schemes, self.slots))

    @cached_property
    def zeros(self) -> dict[str, int]:
        """{text of a scheme with an immediate: number of the one that has 0 for it}, where there is one."""
        found = {}
        for number, (text, form) in enumerate(zip(self.texts, self.forms, strict=True)):
            if form.narrows is not None:
                general = text.removesuffix(form.holes[-1].name) + f"{form.narrows[-1].name}:R"
                found[general] = number
        return found


def reasons(settings: SpaceSettings) -> Mapping[str, str]:
    """{scheme text: why blocks do not have it, "" where they do}, in the order of the scheme set."""
    return _reasons(settings.group_names, settings.extension_names)


@lru_cache(maxsize=8)
def _reasons(groups: frozenset[str], extensions: frozenset[str]) -> Mapping[str, str]:
    found = {}
    for text, (scheme, form) in _all().items():
        missing = next(
            (one for one in scheme.extension.split("+") if extensions and one not in extensions), ""
        )
        if missing:
            found[text] = f"needs {missing}, which is not among the extensions asked for"
        elif scheme.encoding == "EVEX" and "avx512" not in groups:
            found[text] = EVEX
        else:
            found[text] = why_not(scheme, form, groups)
    return found


@cache
def _all() -> Mapping[str, tuple[Scheme, Form]]:
    forms = forms_by_text()
    return {scheme.text: (scheme, forms[scheme.text]) for scheme in schemes()}


def _numbers(bits: Bits) -> Sequence[int]:
    digits = bin(bits)[:1:-1]
    return array("H", [number for number, digit in enumerate(digits) if digit == "1"])

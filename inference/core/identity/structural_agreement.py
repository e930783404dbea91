"""How many schemes have the same µops in two mappings, up to a renaming of ports."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.identity.renaming import Renaming, best_renaming
from inference.core.mapping import PortMapping


@dataclass(frozen=True)
class StructuralAgreement:
    """What two mappings say of their schemes, the second with its ports renamed; each tuple is sorted.

    `agreeing` and `differing` are the schemes that both describe, with equal and with different µops.
    """

    agreeing: tuple[str, ...]
    differing: tuple[str, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    renaming: Renaming

    @property
    def share(self) -> float | None:
        """The share of the common schemes that agree, 0 to 1; None where there are no common schemes."""
        common = len(self.agreeing) + len(self.differing)
        return len(self.agreeing) / common if common else None


def structural_agreement(a: PortMapping, b: PortMapping) -> StructuralAgreement:
    """Compare the µops of all schemes under the best renaming of ports, of which `best_renaming` says
    more.
    """
    renaming = best_renaming(a, b)
    renamed = renaming.apply(b).usage
    common = sorted(a.usage.keys() & b.usage.keys())
    return StructuralAgreement(
        agreeing=tuple(scheme for scheme in common if a.usage[scheme] == renamed[scheme]),
        differing=tuple(scheme for scheme in common if a.usage[scheme] != renamed[scheme]),
        only_first=tuple(sorted(a.usage.keys() - b.usage.keys())),
        only_second=tuple(sorted(b.usage.keys() - a.usage.keys())),
        renaming=renaming,
    )

"""Settings of an abstract domain and of the schemes that its blocks consist of (thesis §8.1.4, §8.2.2)."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.errors import InvalidInputError, as_written
from inference.core.tunables import AlgorithmSettings, check_integer, setting
from inference.isa.targets import sampling_groups

FEATURES = (
    "mnemonic",
    "category",
    "extension",
    "isa-set",
    "lock",
    "rep",
    "memory",
    "operands",
    "uops",
    "scheme",
)
"""All features of schemes, in the order in which an abstract instruction lists them."""

MAX_EDITS = 10  # edits of a mnemonic
MAX_LOG = 10  # binary digits of a bound on the number of µops
MAX_EXTENSIONS = 400
"""Longest list of CPU features, in characters."""


@dataclass(frozen=True)
class DomainSettings(AlgorithmSettings):
    """The features that abstract blocks can constrain. Raises `InvalidInputError` for values out of range."""

    NAME = "the abstract domain"
    features: str = setting(
        "mnemonic category extension isa-set lock rep memory operands uops",
        f"what abstract instructions say about schemes, of: {', '.join(FEATURES)}; uops counts where numbers "
        "of µops are given",
        paper="mnemonic category extension isa-set lock rep memory operands uops",
    )
    edit_distance: int = setting(
        3,
        "largest edit distance of mnemonics that a constraint allows; beyond it, the mnemonic is "
        "unconstrained",
        paper=3,
    )
    log_bound: int = setting(
        5,
        "largest k of the constraint 'fewer than 2 to the k µops'; beyond it, the number of µops "
        "is unconstrained",
        paper=5,
    )
    aliasing: bool = setting(
        True,
        "constrain which operands are equal; without it, blocks are sampled with as few "
        "dependencies as possible",
        paper=True,
    )
    dependencies: bool = setting(
        True,
        "constrain which instruction reads a register or flag that another one has written; needs "
        "constraints on equal operands",
        paper=False,
    )
    gradual: bool = setting(
        True,
        "relax a width to a range, and a register or flag to any of its kind, where dropping the "
        "constraint fails",
        paper=False,
    )

    def __post_init__(self) -> None:
        _check_words("features", self.features, FEATURES)
        if not self.features.split():
            raise InvalidInputError(f"features must name at least one of {', '.join(FEATURES)}")
        check_integer("edit_distance", self.edit_distance, 0, MAX_EDITS)
        check_integer("log_bound", self.log_bound, 0, MAX_LOG)

    @property
    def says_dependencies(self) -> bool:
        return self.aliasing and self.dependencies

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features, in the order of `FEATURES`."""
        names = self.features.split()
        return tuple(name for name in FEATURES if name in names)


@dataclass(frozen=True)
class SpaceSettings(AlgorithmSettings):
    """The schemes that blocks may consist of. Raises `InvalidInputError` for values out of range."""

    NAME = "the choice of schemes"
    groups: str = setting(
        "", f"kinds of schemes beyond the usual ones: {', '.join(sampling_groups())}", paper="rep system"
    )
    extensions: str = setting(
        "", "CPU features that schemes may need, such as BASE X64 AVX2; empty: any", paper="up to AVX2"
    )

    def __post_init__(self) -> None:
        _check_words("groups", self.groups, sampling_groups())
        if len(self.extensions) > MAX_EXTENSIONS:
            raise InvalidInputError(f"extensions must have {MAX_EXTENSIONS} characters at most")

    @property
    def group_names(self) -> frozenset[str]:
        return frozenset(self.groups.split())

    @property
    def extension_names(self) -> frozenset[str]:
        """The allowed extensions; empty for any."""
        return frozenset(self.extensions.split())


def _check_words(name: str, words: str, allowed: tuple[str, ...]) -> None:
    unknown = [word for word in words.split() if word not in allowed]
    if unknown:
        raise InvalidInputError(f"{name} are words of {', '.join(allowed)}, not {as_written(unknown[0])}")

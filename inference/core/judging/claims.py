"""Which word may describe a result: the only place that decides, and the only one with such words.

A search can conclude no more than it has measured: a mapping that no measurement of the search contradicts
may be wrong about all others. So a strong word needs evidence that the search itself cannot give: the model
predicts experiments that were held out, the newest check of the model on the same machine does not refute
every port mapping, no other result of the machine contradicts it, and errors on held-out experiments are no
larger than those of repeated measurements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from inference.core.judging.held_out_checks import HeldOutCheck


class StrongClaim(StrEnum):
    """The conclusion of a search, as the word that it would use."""

    PROVEN = "proven"  # of a scheme: witnesses show its µops
    UNIQUE = "unique"  # of a mapping: no other explains what was measured
    CHECKED = "checked"  # of a scheme: experiments with it are predicted well


_OUTCOMES = {
    StrongClaim.PROVEN: "its witnesses show these µops",
    StrongClaim.UNIQUE: (
        "no other port mapping with as many ports explains the measurements, up to a renaming of ports"
    ),
    StrongClaim.CHECKED: "experiments with it are predicted within the tolerance",
}


@dataclass(frozen=True)
class ClaimEvidence:
    """The evidence for a word beside the search itself.

    Attributes:
        held_out: Errors on experiments that were held out; None where none were.
        results: Compared results of the same machine, this one included; `contradicted_by` names those that
            contradict it.
        unexplained: Experiments that the search itself left unexplained.
        objections: Objections of the newest check of the model on the machine.
    """

    held_out: HeldOutCheck | None = None
    results: int = 1
    contradicted_by: tuple[str, ...] = ()
    unexplained: int = 0
    objections: tuple[str, ...] = ()


NO_EVIDENCE = ClaimEvidence()
"""Nothing was held out, and nothing else is known of the machine."""


@dataclass(frozen=True)
class ClaimWording:
    """The word for a result.

    Attributes:
        is_strong: Whether it is the claim's own, which pages may show in green.
        reasons: Its evidence, or what the strong word lacks.
    """

    text: str
    is_strong: bool
    reasons: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "is_strong": self.is_strong, "reasons": list(self.reasons)}

    @property
    def explanation(self) -> str:
        """The word with its reasons, in one sentence."""
        return f"{self.text[:1].upper()}{self.text[1:]}: {'; '.join(self.reasons)}."


def strongest_word(claim: StrongClaim, evidence: ClaimEvidence) -> ClaimWording:
    """The strongest word that is allowed where a search concludes `claim`."""
    objections = tuple(_objections(evidence))
    if not objections:
        return ClaimWording(claim.value, True, (_OUTCOMES[claim], *_support(evidence)))
    return ClaimWording(best_of(evidence), False, objections)


def best_of(evidence: ClaimEvidence) -> str:
    """`best of 3, 12 experiments unexplained`: the description where no strong word is allowed."""
    off = evidence.unexplained + (0 if evidence.held_out is None else evidence.held_out.off)
    unexplained = f"{off:,} experiment{'' if off == 1 else 's'} unexplained"
    if evidence.held_out is None or not evidence.held_out.n:
        unexplained += ", none held out"
    return f"best of {evidence.results:,}, {unexplained}"


def _objections(evidence: ClaimEvidence) -> Iterator[str]:
    held_out = evidence.held_out
    if held_out is None or not held_out.n:
        yield "no experiment was held out that could contradict it"
    elif held_out.off:
        yield f"{held_out.off:,} of {held_out.n:,} held-out experiments are off by more than its tolerance"
    if evidence.unexplained:
        yield f"its search left {evidence.unexplained:,} unexplained"
    yield from evidence.objections
    if evidence.contradicted_by:
        yield f"contradicted by {', '.join(evidence.contradicted_by)}"
    if held_out is not None and held_out.error is not None and held_out.error > held_out.allowed:
        yield (
            f"held-out experiments are off by {held_out.error:.1f} %, "
            f"of which repeated measurements explain {held_out.allowed:.1f} %"
        )


def _support(evidence: ClaimEvidence) -> Iterator[str]:
    if evidence.held_out is not None and evidence.held_out.error is not None:
        yield f"{evidence.held_out.n:,} held-out experiments are off by {evidence.held_out.error:.1f} %"
    if evidence.results > 1:
        yield f"none of {evidence.results - 1:,} other results of the machine contradicts it"

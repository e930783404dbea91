"""Provenance of exports: the product, the origin of the data, and what to cite.

Nothing here depends on the time of the export, so that the same rows give the same file.
"""

from __future__ import annotations

from dataclasses import dataclass

from inference import __version__
from inference.core.protocols import Json
from inference.core.texts import as_single_line
from inference.formats.quoting import comment, safe_comment

PRODUCT = f"pmweb {__version__}"
CITATION = f"The pmweb developers: {PRODUCT}, port mappings from throughput measurements, 2026."
PMEVO = (
    "Fabian Ritter and Sebastian Hack: PMEvo: Portable Inference of Port Mappings for Out-of-Order "
    "Processors by Evolutionary Optimization. PLDI 2020."
)
EXPLAINABLE = (
    "Fabian Ritter and Sebastian Hack: Explainable Port Mapping Inference with Sparse Performance "
    "Counters for AMD's Zen Architectures. ASPLOS 2024."
)


@dataclass(frozen=True)
class Provenance:
    """`facts`: (label, text), a line each; `citations`: what to cite, the product first."""

    facts: tuple[tuple[str, str], ...]
    citations: tuple[str, ...] = (CITATION,)

    def lines(self) -> list[str]:
        """The lines of a file's head, without comment signs and line breaks."""
        facts = [("made by", PRODUCT), *self.facts, *(("cite", text) for text in self.citations)]
        return [as_single_line(f"{label}: {text}") for label, text in facts if text]

    def as_json(self) -> Json:
        return {
            "made by": PRODUCT,
            **{label: text for label, text in self.facts if text},
            "cite": list(self.citations),
        }

    def commented(self, sign: str) -> str:
        """The lines as comments: each behind `sign`, with a line break. Safe in spreadsheets."""
        return "".join(comment(sign, safe_comment(line)) for line in self.lines())


def head_of(**facts: str) -> str:
    """The head of a table as `#` comments, from any facts: `head_of(run="a check", machine="lab")`."""
    return Provenance(tuple(facts.items())).commented("#")

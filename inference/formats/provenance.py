"""Who made an exported thing, from what, and how to cite it: the head of every export.

Nothing here depends on when the export is written: the same rows give the same file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference import __version__
from inference.core.protocols import Json
from inference.core.texts import one_line
from inference.formats.csv_cells import safe_comment
from inference.formats.quoting import comment
from inference.models import ExperimentSet, PortMapping, ResourceMapping
from inference.storage import characterisations, evidence

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
    """`facts` are (label, text) pairs, one line each; `citations` what to cite, the product first."""

    facts: tuple[tuple[str, str], ...]
    citations: tuple[str, ...] = (CITATION,)

    def lines(self) -> list[str]:
        """Plain lines for the head of a text file, without any comment sign and without line breaks."""
        told = [("made by", PRODUCT), *self.facts, *(("cite", text) for text in self.citations)]
        return [one_line(f"{label}: {text}") for label, text in told if text]

    def as_json(self) -> Json:
        """The same as an object."""
        return {
            "made by": PRODUCT,
            **{label: text for label, text in self.facts if text},
            "cite": list(self.citations),
        }

    def commented(self, sign: str) -> str:
        """The lines, each behind the sign that begins a comment, with a line break at the end."""
        return "".join(comment(sign, safe_comment(line)) for line in self.lines())


def head_of(**facts: str) -> str:
    """The head of a table about something else, as comments: `head_of(run="a check", machine="lab")`."""
    return Provenance(tuple(facts.items())).commented("#")


def provenance_of(row: PortMapping | ResourceMapping | ExperimentSet) -> Provenance:
    """What is known of a row."""
    facts = [
        (str(row._meta.verbose_name), row.name),
        ("instruction set", row.isa.name),
        ("machine", _machine(row)),
        ("source", row.source),
        ("origin", row.get_origin_display() if hasattr(row, "get_origin_display") else ""),
        ("run", _run(row)),
        ("created", row.created.date().isoformat()),
        ("note", row.note),
    ]
    report = row.report if isinstance(row, PortMapping) else {}
    return Provenance(
        tuple((label, text) for label, text in facts if text), (CITATION, *_papers(row, report))
    )


def _machine(row: PortMapping | ResourceMapping | ExperimentSet) -> str:
    machine = getattr(row, "machine", None)
    return "" if machine is None else f"{machine.name} ({machine.cpu})" if machine.cpu else machine.name


def _run(row: PortMapping | ResourceMapping | ExperimentSet) -> str:
    run = getattr(row, "run", None)
    return "" if run is None else f"{run.name} (number {run.pk})"


def _papers(row: PortMapping | ResourceMapping | ExperimentSet, report: Json) -> Sequence[str]:
    """The paper of the algorithm that found a mapping."""
    if characterisations.KEY in report:
        return (EXPLAINABLE,)
    if isinstance(row, PortMapping) and evidence.KEY not in report and "PMEvo" in f"{row.source} {row.name}":
        return (PMEVO,)
    return ()

"""A core model as exports for other tools see it: its mapping with evidence, and latencies in one number.

Tools that have room for one latency per instruction are told one of two: what an instruction adds to a chain
through registers (OSACA), or the largest of its latencies (LLVM).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inference.core.core_model import CoreModel, LatencyEnd, chained_latency, known_latencies
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping, hidden_in, hidden_kinds
from inference.core.throughput import inverse_throughput
from inference.formats.errors import ExchangeError
from inference.formats.exported import NOTHING, ExportedMapping, ExportedScheme, SchemeEvidence
from inference.formats.provenance import Provenance
from inference.isa.scheme import Scheme
from inference.isa.targets import code_target
from inference.isa.tool_names import NO_NAMES, ToolNames


@dataclass(frozen=True)
class ExportedCore:
    """A core model with the schemes of its mapping, those that need no µops included.

    `alone`: schemes whose ports could not be found; `predicted` is what an instance takes alone.
    """

    mapping: ExportedMapping
    model: CoreModel
    alone: tuple[ExportedScheme, ...] = ()

    def chained(self, text: str) -> float | None:
        """Cycles that a scheme adds to a chain through registers, None where that is not known.

        Of explicit registers where it has any; the largest of several. A store adds none of its own.
        """
        return chained_latency(self.model, text)

    def through_memory(self, text: str) -> float | None:
        """Cycles from what an instruction reads of memory to what it writes there, None where not known."""
        known = known_latencies(self.model.latencies.get(text, {}))
        return max(
            (cycles for ends, cycles in known if ends == (LatencyEnd.DATA, LatencyEnd.DATA)), default=None
        )

    def largest(self, text: str) -> float | None:
        """The largest latency between any two operands of a scheme, None where none was measured by itself.

        What is stored does not count, unless it was loaded: it takes as long as the load that waits for it.
        """
        if text in self.model.moves:
            return 0.0
        bases = self.model.bases.get(text, {})
        latencies = self.model.latencies.get(text, {})
        known = known_latencies({ends: cycles for ends, cycles in latencies.items() if not bases.get(ends)})
        counted = (
            cycles for ends, cycles in known if ends[1] is not LatencyEnd.DATA or ends[0] is LatencyEnd.DATA
        )
        return max(counted, default=None)

    def pairs(self, text: str) -> str:
        """All latencies of a scheme in words: `1 → 1: 3, 2 → 1: 3`; "" where none are known."""
        known, bases = self.model.latencies.get(text, {}), self.model.bases.get(text, {})
        return ", ".join(
            f"{source} → {target}: {_in_words(cycles, bases.get((source, target), ''))}"
            for (source, target), cycles in known.items()
        )

    def line(self, scheme: ExportedScheme) -> str:
        """What is known of a scheme, latencies included, in one line."""
        return self.with_latencies(self.mapping.line(scheme), scheme.text)

    def with_latencies(self, line: str, text: str) -> str:
        """A line about a scheme, with its latencies where there are some."""
        pairs = self.pairs(text)
        return f"{line}; latencies {pairs}" if pairs else line


def _in_words(cycles: float | None, basis: str) -> str:
    if cycles is None:
        return "none"
    return f"{cycles:.4g} ({basis})" if basis else f"{cycles:.4g}"


def exported_core(
    name: str,
    isa: str,
    model: CoreModel,
    provenance: Provenance,
    tools: ToolNames = NO_NAMES,
    evidence: Mapping[str, SchemeEvidence] | None = None,
) -> ExportedCore:
    """The value with what is known of its schemes without measuring, in the order of the instruction set.

    Raises `ExchangeError` for a model without ports. Schemes that no instruction set here has are left out.
    """
    if model.mapping is None:
        raise ExchangeError(
            f"the core model {name!r} has no port mapping, without which there is no such file"
        )
    moves = dict.fromkeys(sorted(model.moves - set(model.mapping.usage)), ())
    value = PortMapping(
        model.mapping.ports,
        {**model.mapping.usage, **moves},
        model.mapping.r_max,
        model.mapping.issue_width,
        model.mapping.slots,
    )
    schemes = tuple(_schemes(isa, value, evidence or {}))
    mapping = ExportedMapping(name, isa, value, schemes, provenance, tools)
    return ExportedCore(mapping, model, tuple(_by_time(isa, model, value.usage)))


def _schemes(
    isa: str, value: PortMapping, evidence: Mapping[str, SchemeEvidence]
) -> Iterator[ExportedScheme]:
    hidden = hidden_kinds(value)
    for scheme in _of_instruction_set(isa, value.usage):
        yield ExportedScheme(
            scheme.text,
            scheme.mnemonic,
            [operand.as_json() for operand in scheme.operands],
            scheme.extension,
            scheme.category,
            value.usage[scheme.text],
            inverse_throughput(value, Experiment.of([scheme.text])),
            evidence.get(scheme.text, NOTHING),
            value.slots_of(scheme.text),
            hidden_in(value, scheme.text, hidden),
        )


def _by_time(isa: str, model: CoreModel, usage: Mapping[str, object]) -> Iterator[ExportedScheme]:
    cycles = {text: cycles for text, cycles in model.alone.items() if text not in usage}
    for scheme in _of_instruction_set(isa, cycles):
        alone = cycles[scheme.text]
        operands = [operand.as_json() for operand in scheme.operands]
        evidence = SchemeEvidence(measured=alone)
        yield ExportedScheme(
            scheme.text, scheme.mnemonic, operands, scheme.extension, scheme.category, (), alone, evidence
        )


def _of_instruction_set(isa: str, texts: Mapping[str, object]) -> Sequence[Scheme]:
    """In the order of their texts: the same for the same model, whatever order it was stored in."""
    return [*filter(None, map(code_target(isa).schemes.scheme_of, sorted(texts)))]

"""The interface to the algorithm that finds the ports of the blocking instructions.

It is the counter-example-guided one (§6.2.1, step 4), which is passed in, so that neither package imports the
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.protocols import Measurer, Reporter
from inference.core.waste import WasteSource


@dataclass(frozen=True)
class BlockingQuestion:
    """Schemes whose ports are to be found, and what is known of them.

    Args:
        schemes: Blocking instructions, of one µop each unless they are improper.
        widths: {scheme: size of its port set}.
        improper: Schemes with two µops, one of which has the ports of a scheme with one (§6.3.4).
        ports: Number of ports; None to find it, up to `most_ports`.
        most_ports: Largest number of ports.
        r_max: Instructions per cycle that pass the bottleneck beside the ports; None for no limit.
        epsilon: Largest error of a measurement, in cycles per instruction.
        alternatives: Most other mappings to list.
        trust: {scheme: how many others behave like it}; where measurements contradict one another, the least
            trusted scheme is dropped.
        domains: {scheme: the part of the core that it is for}; schemes of different ones share no ports
            unless that explains more.
        known: {scheme: port set}, as masks of ports that the answer may number otherwise.
        core: What is known of the core beside its ports.
    """

    schemes: tuple[str, ...]
    widths: Mapping[str, int]
    improper: tuple[str, ...]
    ports: int | None
    most_ports: int
    r_max: float | None
    epsilon: float
    alternatives: int
    trust: Mapping[str, int]
    domains: Mapping[str, str]
    known: Mapping[str, int] = field(default_factory=dict)
    core: WasteSource | None = None


@dataclass(frozen=True)
class DropReason:
    """Why an answer lacks a scheme: `text`, and those of its experiments that contradict others.

    `unplaced`: no experiment contradicts it, but its ports were not found within the limits.
    """

    text: str
    contradicting: tuple[Experiment, ...] = ()
    unplaced: bool = False


@dataclass(frozen=True)
class BlockingAnswer:
    """A mapping of the schemes, `alternatives` that no experiment distinguishes from it, and dropped schemes.

    `verdict`, `assumptions` and `unexplained` are sentences.
    """

    mapping: PortMapping
    alternatives: tuple[PortMapping, ...] = ()
    dropped: Mapping[str, DropReason] = field(default_factory=dict)
    verdict: str = ""
    experiments: int = 0
    assumptions: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()


class BlockingSolver(Protocol):
    """An algorithm that finds the ports of blocking instructions."""

    def __call__(
        self, question: BlockingQuestion, measurer: Measurer, reporter: Reporter, seed: int
    ) -> BlockingAnswer:
        """Answer a question; the answer depends only on the arguments and on what is measured.

        Raises:
            InsufficientDataError: No mapping explains the measurements.
        """
        ...

"""The question that explainable inference has about its blocking instructions, and who answers it.

The counter-example-guided algorithm does (§6.2.1, step 4); it is passed in, so that neither algorithm knows
the other.
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
    """Which ports do these schemes use? `widths`: sizes of their port sets. `improper`: schemes with two
    µops, one of which has the ports of a scheme with one (§6.3.4). `ports` None: find the number. `trust`:
    how many others behave like a scheme; where measurements contradict, the least trusted is to blame.
    `domains`: the part of the core that a scheme is for; those of different ones share no ports unless that
    explains more. `known`: port sets that are known, as masks of ports that the answer may
    number otherwise. `core`: what is known of it beside its ports.
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
class LeftOut:
    """Why a scheme has no part in an answer: `text`, and the experiments of it that contradict others.

    `unplaced`: nothing speaks against it, but no ports for it were found within the resources.
    """

    text: str
    contradicting: tuple[Experiment, ...] = ()
    unplaced: bool = False


@dataclass(frozen=True)
class BlockingAnswer:
    """A mapping of the schemes, others that no experiment tells from it, and who had to be left out.

    `verdict`, `assumptions` and what is left `unexplained` in words.
    """

    mapping: PortMapping
    alternatives: tuple[PortMapping, ...] = ()
    dropped: Mapping[str, LeftOut] = field(default_factory=dict)
    verdict: str = ""
    experiments: int = 0
    assumptions: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()


class BlockingSolver(Protocol):
    """Whoever can answer. Raises `InsufficientDataError` where nothing explains the measurements."""

    def __call__(
        self, question: BlockingQuestion, measurer: Measurer, reporter: Reporter, seed: int
    ) -> BlockingAnswer:
        """The same question and measurements give the same answer."""
        ...

"""The settings of explainable inference, each with the publication's value and a line of help."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.errors import InvalidInputError
from inference.core.mapping import R_MAX_RANGE
from inference.core.tunables import AlgorithmSettings, check_choice, check_integer, check_number, setting

MAX_PORTS = 20

MAX_SAMPLES = 600
"""Samples of one experiment unless the setting says otherwise: their median is 20 times as exact as one."""

AUTO, TABLE, COUNTER, ISSUE, THROUGHPUT = "auto", "table", "counter", "issue", "throughput"
SOURCES = (AUTO, TABLE, COUNTER, ISSUE, THROUGHPUT)
"""Where the number of µops of a scheme comes from. `ISSUE`: from the slots that it takes of the bottleneck;
`THROUGHPUT`: from nowhere, the counter-free mode."""

AS_COUNTED, ZEN_MACRO_OPS = "as-counted", "zen-macro-ops"
RULES = (AS_COUNTED, ZEN_MACRO_OPS)

CYCLES, PORT_COUNTERS = "cycles", "port-counters"
EVIDENCE = (CYCLES, PORT_COUNTERS)
"""The evidence that a µop cannot evade blocked ports: lost time (§6.2.2) or counters of the ports (§6.1)."""

ALL, NEEDED, UNTIL_COUNTED = "all", "needed", "until-counted"
FLOODS = (ALL, NEEDED, UNTIL_COUNTED)
"""The blocking instructions with which a scheme is tested; see the setting `floods`."""

DOUBTFUL = "doubtful"
CONFIRM = (DOUBTFUL, ALL)
"""The schemes that later runs test again; see the setting `confirm`."""


@dataclass(frozen=True)
class ExplainSettings(AlgorithmSettings):
    """Settings of an inference; `metadata["paper"]` of each is the ASPLOS paper's value or the thesis's."""

    NAME = "explainable inference"

    ports: int | None = setting(
        None, "Number of ports; empty: the smallest number that explains the blocking instructions.", 10
    )
    most_ports: int = setting(16, "Largest number of ports to try if the number is empty.", "not searched")
    r_max: float | None = setting(
        None, "R_max, the largest instructions per cycle; empty: measured (§6.2.3).", "measured"
    )
    widest: int | None = setting(
        None, "Most ports of one µop; schemes that are quicker alone use no port. Empty: any number.", None
    )
    uops_from: str = setting(
        AUTO,
        "How many µops a scheme has: auto (a table given, else a counter, else throughput), table, counter, "
        "issue (slots it takes among NOPs), or throughput: no count at all.",
        COUNTER,
    )
    padding: str = setting(
        "nop", "With issue: the scheme without µops on any port that fills the other slots.", None
    )
    uop_rule: str = setting(
        AS_COUNTED,
        "What the counter counts: µops, or Zen's macro-ops, to which memory operands add (Postulate 6.5).",
        ZEN_MACRO_OPS,
    )
    evidence: str = setting(
        CYCLES,
        "What shows that µops cannot evade blocked ports: cycles, or port-counters where there are any.",
        CYCLES,
    )
    epsilon: float = setting(
        0.02, "Cycles per instruction within which times count as equal or as additive.", 0.02
    )
    whole_epsilon: float = setting(
        0.3, "Largest deviation of a measured number of µops from an integer, beyond the noise.", 0.15
    )
    wasted: float = setting(
        0.6,
        "Part of a µop by which blocking may cost more than whole µops: cores choose some ports unluckily.",
        0.0,
    )
    alone_epsilon: float = setting(
        0.15, "Cycles that a scheme alone may take beyond those of its µops.", 0.15
    )
    instability: float = setting(
        5.0, "Samples that scatter so many times as much as usual, or more, are unstable.", "by hand"
    )
    slowest: float = setting(
        25.0, "Schemes that take more cycles alone are not tested: blocking would be lost in them.", 14.0
    )
    samples: int = setting(
        1, "Samples of each measurement at least; the median counts. Simulations need more.", 11
    )
    most_samples: int | None = setting(
        None,
        "Samples at most, where a processor is noisy and a small difference has to be seen. Empty: 11 of a "
        "machine, whose results have settled already, and 600 otherwise.",
        11,
    )
    runs: int = setting(3, "How often everything is tested, of which a majority has to agree (§6.3.5).", 3)
    confirm: str = setting(
        DOUBTFUL,
        "What later runs test again: all schemes, or doubtful ones: excluded, or with a surplus that was not "
        "close to a whole number.",
        ALL,
    )
    floods: str = setting(
        NEEDED,
        "What each scheme is tested with: all blocking instructions; needed: none whose ports are among "
        "those that nothing was bound to; until-counted: narrow ones first, until all µops are found (§6.1).",
        UNTIL_COUNTED,
    )
    most_copies: int = setting(
        400, "Copies of a blocking instruction at most; schemes that would need more are not tested.", 100
    )
    seconds: float | None = setting(
        1800.0,
        "The search ends after so many seconds with what it has, a quarter of them (of computing) for the "
        "ports of blocking instructions; empty: no limit.",
        "none",
    )
    alternatives: int = setting(300, "Mappings of the blocking instructions to list where several fit.", 1)

    def __post_init__(self) -> None:
        if self.ports is not None:
            check_integer("ports", self.ports, 1, MAX_PORTS)
        check_integer("most_ports", self.most_ports, 1, MAX_PORTS)
        if self.r_max is not None:
            check_number("r_max", self.r_max, *R_MAX_RANGE)
        if self.widest is not None:
            check_integer("widest", self.widest, 1, MAX_PORTS)
        check_choice("uops_from", self.uops_from, SOURCES)
        if not isinstance(self.padding, str) or not self.padding.strip():
            raise InvalidInputError(f"padding must be an instruction scheme, e.g. nop, not {self.padding!r}")
        check_choice("uop_rule", self.uop_rule, RULES)
        check_choice("evidence", self.evidence, EVIDENCE)
        check_number("epsilon", self.epsilon, 1e-6, 0.5)
        check_number("whole_epsilon", self.whole_epsilon, 0.0, 0.5)
        check_number("wasted", self.wasted, 0.0, 0.7)
        check_number("alone_epsilon", self.alone_epsilon, 0.0, 100.0)
        check_number("instability", self.instability, 1.0, 1000.0)
        check_number("slowest", self.slowest, 0.1, 1000.0)
        check_integer("samples", self.samples, 1, 1000)
        if self.most_samples is not None:
            check_integer("most_samples", self.most_samples, self.samples, 100_000)
        check_integer("runs", self.runs, 1, 9)
        check_choice("floods", self.floods, FLOODS)
        check_choice("confirm", self.confirm, CONFIRM)
        check_integer("most_copies", self.most_copies, 10, 1000)
        if self.seconds is not None:
            check_number("seconds", self.seconds, 1e-6, 1e7)
        check_integer("alternatives", self.alternatives, 0, 10_000)

    @property
    def samples_at_most(self) -> int:
        """`most_samples`; where that is None, `MAX_SAMPLES`, and never fewer than `samples`."""
        return max(self.samples, MAX_SAMPLES) if self.most_samples is None else self.most_samples

"""The settings of counter-example-guided inference, each with the thesis's value and a one-line help."""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.mapping import R_MAX_RANGE
from inference.core.tunables import AlgorithmSettings, check_choice, check_integer, check_number, setting

MAX_PORTS = 20
CLOSED_FORM, LINEAR_PROGRAM = "closed-form", "linear-program"
ENCODINGS = (CLOSED_FORM, LINEAR_PROGRAM)
LEAVE_UNEXPLAINED, STOP = "leave-unexplained", "stop"
DROP_SCHEME, DROP_MNEMONIC = "drop-scheme", "drop-mnemonic"
CLASHES = (LEAVE_UNEXPLAINED, STOP, DROP_SCHEME, DROP_MNEMONIC)


@dataclass(frozen=True)
class CegarSettings(AlgorithmSettings):
    """Settings of a search; `metadata["paper"]` of each field is the value that the thesis used."""

    NAME = "CEGAR"

    ports: int | None = setting(
        None, "Number of ports; empty: the smallest number that explains the measurements.", "given"
    )
    most_ports: int = setting(
        MAX_PORTS, "Largest number of ports to try if the number is empty.", "not searched"
    )
    epsilon: float = setting(
        0.02, "Noise bound: largest error of a measurement in cycles per instruction.", 0.02
    )
    r_max: float | None = setting(
        None,
        "Instructions per cycle that the bottleneck outside the ports lets through; empty: none with a given "
        "number of ports, else the most that any mix reaches.",
        "5 on Zen+",
    )
    max_length: int | None = setting(
        None, "Most instructions in an experiment; empty: no limit.", "not limited"
    )
    encoding: str = setting(
        CLOSED_FORM,
        "closed-form: Boolean constraints, quick; linear-program: the thesis's own, to compare with.",
        LINEAR_PROGRAM,
    )
    apart: bool = setting(
        True,
        "Assume that integer, vector and memory µops use different ports, if that explains the "
        "measurements as well.",
        "not assumed",
    )
    alternatives: int = setting(
        50, "Most other port mappings to list where measurements cannot tell them apart.", "1"
    )
    on_clash: str = setting(
        LEAVE_UNEXPLAINED,
        "When measurements contradict one another: leave the fewest unexplained, stop, or drop a scheme (or "
        "its mnemonic) and go on.",
        "drop-mnemonic, by hand",
    )
    time_limit: float = setting(
        100.0,
        "Time limit in seconds of computation; the result is the best mapping so far. 0: no limit.",
        "none",
    )
    solver_limit: int = setting(
        100_000_000,
        "Limit of a solver call in z3's resource units, about 200,000 per second; 0: no limit.",
        "none",
    )

    def __post_init__(self) -> None:
        if self.ports is not None:
            check_integer("ports", self.ports, 1, MAX_PORTS)
        check_integer("most_ports", self.most_ports, 1, MAX_PORTS)
        check_number("epsilon", self.epsilon, 1e-6, 0.5)
        if self.r_max is not None:
            check_number("r_max", self.r_max, *R_MAX_RANGE)
        if self.max_length is not None:
            check_integer("max_length", self.max_length, 1, 1000)
        check_choice("encoding", self.encoding, ENCODINGS)
        check_integer("alternatives", self.alternatives, 0, 10_000)
        check_choice("on_clash", self.on_clash, CLASHES)
        check_number("time_limit", self.time_limit, 0.0, 1e6)
        check_integer("solver_limit", self.solver_limit, 0, 4_000_000_000)

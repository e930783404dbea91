"""The settings of PMEvo, each with the paper's value and a one-line help for forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inference.core.mapping import MAX_PORTS, R_MAX_RANGE
from inference.core.tunables import AlgorithmSettings, check_choice, check_integer, check_number, setting

SEARCHES = ("evolution", "refit", "both")
CEILINGS = ("none", "data")
OBJECTIVES = ("bounded", "mean")
PLANS = ("adaptive", "exhaustive")
LEARN_FROM = ("representatives", "classes")
DUPLICATES = ("add", "drop")
SCALINGS = ("range", "zero")
INHERITANCES = ("split", "rows")
PARENTS = ("uniform", "tournament")
REPEATS = ("keep", "replace")
PRESETS: Mapping[str, Mapping[str, str]] = {
    "quick": {"starts": "1", "rounds": "1", "max_generations": "200", "perturbations": "20"},
    "standard": {},
    "paper": {
        "search": "evolution",
        "objective": "mean",
        "plan": "exhaustive",
        "ceiling": "none",
        "learnt_mixes": "0",
        "islands": "1",
        "inheritance": "split",
        "mutation": "0",
        "parents": "uniform",
        "repeats": "keep",
        "population": "100000",
        "convergence": "0",
        "congruence_evidence": "1",
        "congruence_outliers": "0",
        "learn_from": "representatives",
        "volume_weight": "1",
        "duplicates": "add",
        "climb_share": "1",
        "seconds": "1000000",
    },
}
"""Settings that differ from the defaults, as text; "paper" follows the paper to the letter."""


@dataclass(frozen=True)
class PMEvoSettings(AlgorithmSettings):
    """Settings of a search; `metadata["paper"]` of each is the value that the publication used."""

    NAME = "PMEvo"

    ports: int | None = setting(
        None, "Number of ports of the inferred port mapping; empty: as many as the data ask for.", "given"
    )
    search: str = setting(
        "refit",
        "evolution: the paper's; refit: exact, one scheme after another; both: within evolution and after.",
        "evolution",
    )
    plan: str = setting(
        "adaptive",
        "Where anything can be measured: all pairs of schemes, or new schemes against class representatives.",
        "exhaustive",
    )
    most_experiments: int | None = setting(
        None,
        "Adaptive plan: pairs to measure at most; schemes without a class by then stay classes of their own.",
        None,
    )
    learnt_mixes: float = setting(
        0.0, "Random mixes of 3 to 5 instructions to measure and learn from beside the pairs, per scheme.", 0
    )
    population: int = setting(
        100, "Port mappings kept in each generation (N): more cost time and find better mappings.", 100_000
    )
    max_generations: int = setting(1000, "The evolution stops after this many generations.", "a limit")
    convergence: float = setting(
        0.001,
        "The evolution stops when error and volume of all kept mappings lie within this share of the best.",
        "a single value",
    )
    congruence_epsilon: float = setting(
        0.05, "Times whose symmetric relative difference is smaller count as equal.", 0.05
    )
    congruence_evidence: float = setting(
        0.5,
        "Share of their experiments that must be measured for both before schemes count as alike.",
        "1: its plan measures all of them",
    )
    congruence_outliers: float = setting(
        0.005,
        "Share of the compared experiments that may differ all the same: noise exceeds any limit at times.",
        0,
    )
    learn_from: str = setting(
        "classes",
        "representatives: experiments of these alone; classes: those with other members too, "
        "rewritten to representatives, with repeated ones as their median.",
        "representatives",
    )
    r_max: float | None = setting(
        None, "Instructions per cycle that the bottleneck outside the ports lets through; empty: none.", None
    )
    ceiling: str = setting(
        "data",
        "Where R_max is empty: none, or data: the highest rate, if many of the experiments reach it.",
        "none",
    )
    volume_weight: float = setting(
        0.1, "Weight of the µop volume against the prediction error in the fitness; 0 ignores it.", 1.0
    )
    scaling: str = setting(
        "range",
        "Fitness scale per generation: range maps smallest..largest to 0..1000, zero maps 0..largest.",
        "range (the published program: zero)",
    )
    duplicates: str = setting(
        "drop",
        "A µop that a child inherits from both parents: add the counts, or drop the second.",
        "unsaid (the published program: drop)",
    )
    climb_share: float = setting(
        0.1, "Share of the final mappings, best first, from which the hill climb starts.", 1.0
    )
    inheritance: str = setting(
        "rows",
        "A scheme's µops in children. split: those of both parents, shuffled and split; rows: one parent's.",
        "split",
    )
    mutation: float = setting(2.0, "Schemes of a child that change at random, on average; 0: none.", 0)
    parents: str = setting(
        "tournament", "Who becomes a parent. uniform: anybody; tournament: the fitter of two.", "uniform"
    )
    repeats: str = setting(
        "keep",
        "Equal mappings. keep: each counts; replace: the second gives way to any mapping that differs.",
        "keep",
    )
    islands: int = setting(
        1,
        "Populations that share out the port mappings, evolve apart and exchange their best; "
        "threads or workers share out the islands.",
        1,
    )
    migrate_every: int = setting(10, "Generations after which islands exchange their best.", None)
    migrants: int = setting(5, "Port mappings that each island sends on to the next.", None)
    refits: int = setting(
        2, "With both: schemes of the fittest mapping that are re-fitted in each generation.", None
    )
    starts: int = setting(
        2, "Independent re-fits, of which the best counts; each keeps one processor busy.", None
    )
    sweeps: int = setting(
        2, "Passes of the re-fit over all schemes before it begins to leave out kinds of µops.", None
    )
    rounds: int = setting(
        1, "How often the re-fit opens up for new kinds of µops and leaves out those without use.", None
    )
    patience: int = setting(3, "Rounds without a better mapping after which the re-fit stops.", None)
    kind_price: float = setting(
        0.004, "By how much a new kind of µop must lower the mean error of a scheme's experiments.", None
    )
    volume_price: float = setting(
        0.00001, "The same for each µop and port that it can use: prefers narrow port sets.", None
    )
    objective: str = setting(
        "bounded",
        "What is minimised. bounded: a loss that hardly grows once something is not explained; the re-fit "
        "then ends with few µops and slots that no measurement contradicts. mean: the mean error.",
        "mean",
    )
    issue_width: float | None = setting(
        None, "Issue slots per cycle; empty: found from R_max and the measurements.", None
    )
    spread: float = setting(0.025, "Bounded objective: relative errors well below this count as none.", None)
    uop_price: float = setting(
        0.005, "Bounded objective: what a µop costs, per experiment of its scheme.", None
    )
    regular_forms: bool = setting(
        True,
        "Of a scheme with memory, the µops of its register form and those of a load or store, as far as "
        "measurements speak against it by a few experiments at most.",
        "not assumed",
    )
    apart: bool = setting(
        True,
        "Integer schemes, vector schemes and loads have ports of their own, as far as measurements speak "
        "against it by a few experiments at most.",
        "not assumed",
    )
    forgive_waste: bool = setting(
        True,
        "Schemes for one part of the core have no µop that only explains times which spreading µops evenly "
        "over their ports, not as well as possible, would explain too.",
        "not assumed",
    )
    slot_price: float = setting(
        0.0034, "Bounded objective: what an issue slot costs, per experiment of its scheme.", None
    )
    new_kind_price: float = setting(
        0.017, "Bounded objective: what another kind of µop costs, per experiment of its scheme.", None
    )
    perturbations: int = setting(
        100, "Bounded objective: local searches from changes to the best mapping, at most.", None
    )
    perturbation_patience: int = setting(
        40, "Bounded objective: local searches in a row without a better mapping after which it ends.", None
    )
    most_ports: int = setting(24, "Where the number of ports is empty: ports at most.", None)
    waste: bool = setting(
        True,
        "Where a scheduler explains them: measured times are corrected by what it wastes, in a few rounds.",
        "not assumed",
    )
    seconds: float | None = setting(
        900.0, "The search ends after so many seconds with the best mapping so far; empty: no limit.", "none"
    )
    threads: int = setting(
        0, "Threads that evaluate mappings; 0: one per processor. No effect on the answer.", None
    )

    def __post_init__(self) -> None:
        if self.ports is not None:
            check_integer("ports", self.ports, 1, MAX_PORTS)
        check_integer("most_ports", self.most_ports, 1, MAX_PORTS)
        if self.seconds is not None:
            check_number("seconds", self.seconds, 1, 1e7)
        check_integer("population", self.population, 2, 10_000_000)
        check_integer("max_generations", self.max_generations, 0, 1_000_000)
        check_integer("threads", self.threads, 0, 1024)
        check_number("convergence", self.convergence, 0, 1)
        check_number("congruence_epsilon", self.congruence_epsilon, 0, 1)
        check_number("congruence_evidence", self.congruence_evidence, 0, 1)
        check_number("congruence_outliers", self.congruence_outliers, 0, 1)
        check_choice("learn_from", self.learn_from, LEARN_FROM)
        check_number("volume_weight", self.volume_weight, 0, 1e6)
        check_number("climb_share", self.climb_share, 0, 1)
        if self.r_max is not None:
            check_number("r_max", self.r_max, *R_MAX_RANGE)
        check_number("learnt_mixes", self.learnt_mixes, 0, 1000)
        if self.most_experiments is not None:
            check_integer("most_experiments", self.most_experiments, 0, 1_000_000_000)
        check_number("mutation", self.mutation, 0, 1e6)
        check_integer("islands", self.islands, 1, min(1024, self.population // 2))
        check_integer("migrate_every", self.migrate_every, 1, 1_000_000)
        check_integer("migrants", self.migrants, 0, 10_000_000)
        check_choice("inheritance", self.inheritance, INHERITANCES)
        check_choice("parents", self.parents, PARENTS)
        check_choice("repeats", self.repeats, REPEATS)
        check_choice("search", self.search, SEARCHES)
        check_integer("refits", self.refits, 0, 1_000_000)
        check_integer("starts", self.starts, 1, 1024)
        check_integer("sweeps", self.sweeps, 1, 1000)
        check_integer("rounds", self.rounds, 1, 1000)
        check_integer("patience", self.patience, 0, 1000)
        check_number("kind_price", self.kind_price, 0, 1000)
        check_number("volume_price", self.volume_price, 0, 1000)
        check_choice("objective", self.objective, OBJECTIVES)
        if self.issue_width is not None:
            check_number("issue_width", self.issue_width, *R_MAX_RANGE)
        check_number("spread", self.spread, 1e-6, 1)
        check_number("uop_price", self.uop_price, 0, 1000)
        check_number("slot_price", self.slot_price, 0, 1000)
        check_number("new_kind_price", self.new_kind_price, 0, 1000)
        check_integer("perturbations", self.perturbations, 0, 1_000_000)
        check_integer("perturbation_patience", self.perturbation_patience, 0, 1_000_000)
        check_choice("ceiling", self.ceiling, CEILINGS)
        check_choice("plan", self.plan, PLANS)
        check_choice("duplicates", self.duplicates, DUPLICATES)
        check_choice("scaling", self.scaling, SCALINGS)

    @property
    def n_ports(self) -> int:
        """The number of ports; a search sets it before it evaluates mappings."""
        assert self.ports is not None, "a search begins with a number of ports"
        return self.ports

    @property
    def minimises(self) -> str:
        """What evolution and hill climb minimise besides the volume: the mean "error" or "loss"."""
        return "loss" if self.objective == "bounded" else "error"

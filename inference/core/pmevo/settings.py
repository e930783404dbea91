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
        None,
        "Number of ports of the inferred port mapping; empty: as many as the measurements need.",
        "given",
    )
    search: str = setting(
        "refit",
        "Search method. evolution: the paper's; refit: exact local search, scheme by scheme; "
        "both: re-fit during and after the evolution.",
        "evolution",
    )
    plan: str = setting(
        "adaptive",
        "Experiments measured on a machine. exhaustive: all pairs of schemes; adaptive: pairs "
        "with the representatives of congruence classes.",
        "exhaustive",
    )
    most_experiments: int | None = setting(
        None,
        "Adaptive plan: largest number of pairs; schemes without a class by then become classes "
        "of their own.",
        None,
    )
    learnt_mixes: float = setting(
        0.0, "Random mixes of 3 to 5 instructions measured for training, per scheme.", 0
    )
    population: int = setting(
        100, "Port mappings kept in each generation (N); more take longer and give better mappings.", 100_000
    )
    max_generations: int = setting(1000, "The evolution stops after this many generations.", "a limit")
    convergence: float = setting(
        0.001,
        "The evolution stops when all kept mappings have errors and volumes within this share of "
        "the best one's.",
        "a single value",
    )
    congruence_epsilon: float = setting(
        0.05, "Times whose symmetric relative difference is smaller count as equal.", 0.05
    )
    congruence_evidence: float = setting(
        0.5,
        "Share of two schemes' experiments that must be measured for both before they count as congruent.",
        "1: its plan measures all of them",
    )
    congruence_outliers: float = setting(
        0.005,
        "Share of the compared experiments that may differ nevertheless, because of outliers.",
        0,
    )
    learn_from: str = setting(
        "classes",
        "Training data. representatives: experiments with class representatives only; classes: "
        "those with other members too, rewritten to representatives; repeated ones count by their "
        "median.",
        "representatives",
    )
    r_max: float | None = setting(
        None,
        "Largest instructions per cycle of the bottleneck outside the ports (R_max); empty: no limit.",
        None,
    )
    ceiling: str = setting(
        "data",
        "R_max if it is empty above. none: no limit; data: the highest measured rate, if many "
        "experiments reach it.",
        "none",
    )
    volume_weight: float = setting(
        0.1,
        "Weight of the µop volume relative to the prediction error in the fitness; 0 ignores the volume.",
        1.0,
    )
    scaling: str = setting(
        "range",
        "Fitness scale per generation: range maps smallest..largest to 0..1000, zero maps 0..largest.",
        "range (the published program: zero)",
    )
    duplicates: str = setting(
        "drop",
        "µops that a child inherits from both parents. add: counts are added; drop: the second "
        "one is dropped.",
        "not stated (the published program: drop)",
    )
    climb_share: float = setting(
        0.1, "Share of the final mappings, best first, from which the hill climb starts.", 1.0
    )
    inheritance: str = setting(
        "rows",
        "Crossover. split: a scheme's µops of both parents are shuffled and split; rows: all are "
        "one parent's.",
        "split",
    )
    mutation: float = setting(2.0, "Mean number of schemes of a child that mutate; 0: none.", 0)
    parents: str = setting(
        "tournament", "Selection of parents. uniform: at random; tournament: the fitter of two.", "uniform"
    )
    repeats: str = setting(
        "keep",
        "Equal mappings in a population. keep: all stay; replace: duplicates are replaced by other mappings.",
        "keep",
    )
    islands: int = setting(
        1,
        "Number of populations that evolve separately and exchange their best mappings; threads "
        "or workers execute them in parallel.",
        1,
    )
    migrate_every: int = setting(10, "Generations between exchanges of the islands.", None)
    migrants: int = setting(5, "Port mappings that each island sends to the next one.", None)
    refits: int = setting(
        2, "Search method both: schemes of the fittest mapping re-fitted in each generation.", None
    )
    starts: int = setting(2, "Independent re-fits, of which the best counts; each uses one processor.", None)
    sweeps: int = setting(2, "Passes of the re-fit over all schemes before it removes kinds of µops.", None)
    rounds: int = setting(
        1, "Number of times that the re-fit adds new kinds of µops and removes unused ones.", None
    )
    patience: int = setting(3, "Rounds without a better mapping after which the re-fit stops.", None)
    kind_price: float = setting(
        0.004, "Reduction of a scheme's mean error that a new kind of µop must bring.", None
    )
    volume_price: float = setting(
        0.00001, "Reduction of the mean error per µop and port; larger values prefer narrow port sets.", None
    )
    objective: str = setting(
        "bounded",
        "Minimised loss. bounded: saturates for outliers, and the re-fit ends with few µops and "
        "slots that no measurement contradicts; mean: the mean error.",
        "mean",
    )
    issue_width: float | None = setting(
        None, "Issue slots per cycle; empty: inferred from R_max and the measurements.", None
    )
    spread: float = setting(0.025, "Bounded objective: relative errors well below this count as 0.", None)
    uop_price: float = setting(
        0.005, "Bounded objective: penalty for a µop, per experiment of its scheme.", None
    )
    regular_forms: bool = setting(
        True,
        "Assume that a scheme with a memory operand has the µops of its register form and of a "
        "load or store, unless more than a few experiments contradict it.",
        "not assumed",
    )
    apart: bool = setting(
        True,
        "Assume that integer schemes, vector schemes and loads use different ports, unless more "
        "than a few experiments contradict it.",
        "not assumed",
    )
    forgive_waste: bool = setting(
        True,
        "Remove µops that explain nothing but times that an even, suboptimal distribution of the "
        "other µops over their ports explains as well.",
        "not assumed",
    )
    slot_price: float = setting(
        0.0034, "Bounded objective: penalty for an issue slot, per experiment of its scheme.", None
    )
    new_kind_price: float = setting(
        0.017, "Bounded objective: penalty for a further kind of µop, per experiment of its scheme.", None
    )
    perturbations: int = setting(
        100,
        "Bounded objective: largest number of local searches from perturbations of the best mapping.",
        None,
    )
    perturbation_patience: int = setting(
        40,
        "Bounded objective: consecutive local searches without improvement after which the search ends.",
        None,
    )
    most_ports: int = setting(24, "Largest number of ports to try if the number is empty.", None)
    waste: bool = setting(
        True,
        "Correct measured times by the cycles that an inferred scheduler wastes, in a few rounds.",
        "not assumed",
    )
    seconds: float | None = setting(
        900.0,
        "Time limit of the search in seconds; it ends with the best mapping so far. Empty: no limit.",
        "none",
    )
    threads: int = setting(
        0, "Threads that evaluate mappings; 0: one per processor. No effect on the result.", None
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

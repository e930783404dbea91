"""The glossary: the words of the field and of this site."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.text import slugify


@dataclass(frozen=True)
class GlossaryTerm:
    """A word and what it means; `also` are other words for it, `see` terms that explain more."""

    name: str
    meaning: str
    also: tuple[str, ...] = ()
    see: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Its place on the page."""
        return anchor_of(self.name)


def anchor_of(name: str) -> str:
    """The place of a term on the page of the glossary."""
    return "term-" + slugify(name.replace("µ", "u").replace("τ", "tau").replace("ε", "epsilon"))


TERMS = (
    GlossaryTerm(
        "abstract block",
        "A pattern for basic blocks: for each place the features that its instruction must have, and "
        "which operands are or are not the same. It stands for all concrete blocks that fit.",
        see=(
            "generalisation",
            "subsumption",
            "discovery",
        ),
    ),
    GlossaryTerm(
        "agent",
        "The program that runs on a computer to be measured. It connects to the site, measures the "
        "experiments it is sent, and needs nothing but Python there.",
        see=("machine",),
    ),
    GlossaryTerm(
        "basic block",
        "A straight piece of code without jumps. The site looks at how long it takes when it is "
        "repeated again and again as the body of a loop.",
        also=(
            "loop",
            "kernel",
        ),
        see=(
            "abstract block",
            "predictor",
        ),
    ),
    GlossaryTerm(
        "blocking instruction",
        "An instruction whose µops keep a known set of ports busy. Beside enough copies of it, the "
        "µops of another instruction that can use only these ports cannot hide, and lengthen the "
        "experiment.",
        see=("witness",),
    ),
    GlossaryTerm(
        "bottleneck set",
        "A set of ports that limits an experiment: the µops that can run nowhere else, divided by the "
        "number of its ports, is the largest such quotient of all sets, and this is the inverse "
        "throughput.",
        see=(
            "port",
            "inverse throughput",
        ),
    ),
    GlossaryTerm(
        "campaign",
        "A search for basic blocks on which chosen predictors disagree. What it finds is generalised "
        "to discoveries.",
        see=(
            "discovery",
            "interestingness",
        ),
    ),
    GlossaryTerm(
        "congruence",
        "Two schemes are congruent when exchanging one for the other changes no measured experiment by "
        "more than noise (5 % unless set otherwise). An inference needs only one of each such class.",
        also=(
            "congruence class",
            "representative",
        ),
    ),
    GlossaryTerm(
        "counter-example",
        "An experiment for which two mappings that fit the measurements so far predict different "
        "times. Measuring it rules out at least one of them.",
        see=("port mapping",),
    ),
    GlossaryTerm(
        "coverage",
        "Of a set of basic blocks on which predictors disagree, the share that belongs to the abstract "
        "block of some discovery.",
        see=(
            "discovery",
            "subsumption",
        ),
    ),
    GlossaryTerm(
        "CPI",
        "Cycles per instruction: the inverse throughput of an experiment divided by the number of its "
        "instructions. IPC, instructions per cycle, is one over it.",
        also=("IPC",),
        see=("inverse throughput",),
    ),
    GlossaryTerm(
        "dependency",
        "An instruction that needs the result of an earlier one has to wait for it. Experiments are "
        "written without dependencies, so that ports alone limit them; basic blocks may have some.",
        see=(
            "experiment",
            "basic block",
        ),
    ),
    GlossaryTerm(
        "discovery",
        "An abstract block whose instances the predictors of a campaign disagree about, with every "
        "step by which it was generalised from one concrete block.",
        see=(
            "abstract block",
            "generalisation",
            "campaign",
        ),
    ),
    GlossaryTerm(
        "doubt",
        "A reason not to rely on the µops of a scheme in a mapping: others explain the measurements as "
        "well, it is badly predicted, other slots were measured, or another mapping says otherwise.",
        see=("residual",),
    ),
    GlossaryTerm(
        "epsilon",
        "ε, the difference in cycles per instruction below which two times count as equal; 0.02 unless "
        "somebody says otherwise.",
        also=("ε",),
    ),
    GlossaryTerm(
        "experiment",
        "A multiset of instruction schemes, for instance two additions and a multiplication. It is "
        "executed as the body of a long loop without dependencies.",
        also=("mix",),
        see=(
            "scheme",
            "inverse throughput",
        ),
    ),
    GlossaryTerm(
        "experiment set",
        "Measured experiments of one instruction set, from one machine or one file, with how they were "
        "measured.",
        also=("data set",),
        see=(
            "experiment",
            "machine",
        ),
    ),
    GlossaryTerm(
        "front",
        "The mappings of a PMEvo run that no other one beats in error, volume and number of kinds of "
        "µops at once. Each is a choice between these.",
        also=("Pareto front",),
        see=(
            "volume",
            "MAPE",
        ),
    ),
    GlossaryTerm(
        "generalisation",
        "Taking conditions from an abstract block, one at a time, as long as all sampled instances "
        "stay interesting. What remains is what the disagreement rests on.",
        see=(
            "abstract block",
            "interestingness",
        ),
    ),
    GlossaryTerm(
        "heat map",
        "Predicted against measured time, as counts per bin. On the diagonal the prediction is right, "
        "above it too slow, below it too fast.",
        see=("MAPE",),
    ),
    GlossaryTerm(
        "interestingness",
        "How far the answers of predictors about a basic block lie apart, as a share of their mean "
        "or in cycles. A block is interesting above a threshold, or where a predictor fails.",
        see=("campaign",),
    ),
    GlossaryTerm(
        "inverse throughput",
        "The cycles that one execution of an experiment or block takes on average when it is repeated "
        "for long.",
        also=(
            "throughput",
            "cycles per iteration",
        ),
        see=(
            "CPI",
            "bottleneck set",
        ),
    ),
    GlossaryTerm(
        "issue slot",
        "A place among the µops that a core takes in per cycle (its issue width). An instruction takes one "
        "or more, whether it needs a port or not; µops on as many ports as there are slots are hidden.",
        see=("R_max", "µop"),
    ),
    GlossaryTerm(
        "Kendall τ",
        "From −1 to 1: how well predictions put experiments into the order of their measured times.",
        also=("tau",),
    ),
    GlossaryTerm(
        "machine",
        "Whatever answers how many cycles something takes: a computer with an agent, a simulated "
        "processor, or published measurements.",
        see=(
            "agent",
            "noise",
        ),
    ),
    GlossaryTerm(
        "MAPE",
        "Mean absolute percentage error: by how many per cent of the measured time predictions are off "
        "on average.",
        see=(
            "Pearson r",
            "Kendall τ",
        ),
    ),
    GlossaryTerm(
        "mode",
        "How copies of a basic block without a jump follow each other where it is measured or predicted: in "
        "a loop, or unrolled as straight code, which has to be decoded and may take longer for that. Numbers "
        "of one mode say nothing about the other.",
        see=("basic block", "predictor"),
    ),
    GlossaryTerm(
        "noise",
        "How far repeated measurements of the same thing differ, as a share of the time. A machine "
        "with much of it is slow to settle.",
        see=("settled",),
    ),
    GlossaryTerm(
        "Pearson r",
        "From −1 to 1: how well predicted times are a straight line over measured ones.",
    ),
    GlossaryTerm(
        "port",
        "A door through which a processor starts one µop per cycle. Behind each are some of its units: "
        "additions, shifts, loads.",
        also=("execution port",),
        see=(
            "µop",
            "port mapping",
        ),
    ),
    GlossaryTerm(
        "port mapping",
        "Which µops each instruction scheme is split into, and which ports each of these can use.",
        see=(
            "scheme",
            "µop",
            "port",
            "R_max",
        ),
    ),
    GlossaryTerm(
        "predictor",
        "Whatever says how many cycles a basic block takes: llvm-mca, OSACA, a port mapping, a machine.",
        see=("basic block",),
    ),
    GlossaryTerm(
        "R_max",
        "The most instructions per cycle that a processor takes in, whatever its ports could do.",
        also=("front end",),
    ),
    GlossaryTerm(
        "residual",
        "The mean absolute error of a mapping over the experiments that contain a scheme.",
        see=(
            "MAPE",
            "doubt",
        ),
    ),
    GlossaryTerm(
        "resource mapping",
        "Palmed’s model: each scheme takes up cycles of abstract resources, and the fullest one says "
        "how long an experiment takes.",
        see=("port mapping",),
    ),
    GlossaryTerm(
        "run",
        "A piece of work that takes longer than a page: an inference, an import, a campaign. It has a "
        "page, a seed, a journal, and goes on after a restart.",
    ),
    GlossaryTerm(
        "scheme",
        "An instruction with kinds of operands in place of operands: `add GPR[64]:RW, GPR[64]:R` is "
        "the addition of any two 64-bit registers, of which the first is read and written.",
        also=("instruction scheme",),
        see=("experiment",),
    ),
    GlossaryTerm(
        "settled",
        "A measurement is settled when the smallest times of several passes agree; others are marked "
        "and not learned from.",
        see=("noise",),
    ),
    GlossaryTerm(
        "subsumption",
        "An abstract block subsumes another, or a concrete one, when everything that fits the latter "
        "fits the former.",
        see=(
            "abstract block",
            "coverage",
        ),
    ),
    GlossaryTerm(
        "µop",
        "A micro-operation: a part of an instruction that occupies one port for one cycle.",
        also=(
            "uop",
            "micro-operation",
        ),
        see=("port",),
    ),
    GlossaryTerm(
        "volume",
        "The size of a mapping: its µops times the ports that each can use, over all schemes. Of two "
        "equally accurate mappings the smaller one says more.",
        see=("front",),
    ),
    GlossaryTerm(
        "witness",
        "A measured experiment that shows a part of what a mapping says of a scheme, usually the "
        "scheme beside blocking instructions.",
        see=("blocking instruction",),
    ),
)
"""By name, as a reader looks them up; the Greek letter comes with its Latin one."""

BY_NAME = {term.name: term for term in TERMS}

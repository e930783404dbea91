"""A mapping found by explainable inference, made by hand: every outcome, every kind of witness."""

from __future__ import annotations

from inference.core.experiment import Experiment
from inference.core.explain import (
    BlockingAnswer,
    BlockingClass,
    Characterisation,
    ExplainResult,
    NotCharacterised,
    SchemeFate,
    VerdictFact,
    Witness,
    WitnessOutcome,
)
from inference.core.explain.surplus import flood_of
from inference.core.mapping import PortMapping as Value
from inference.models import ISA, PortMapping
from inference.storage.characterisations import KEY, report_of, store_characterisations
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping

ADD = "add GPR[32]:RW, GPR[32]:R"
ADD_LOAD = "add GPR[32]:RW, MEM[32]:R"
LOAD = "mov GPR[32]:W, MEM[32]:R"
IMUL = "imul GPR[32]:RW, GPR[32]:R"
IMUL_LOAD = "imul GPR[32]:RW, MEM[32]:R"
STORE = "mov MEM[32]:W, GPR[32]:R"
BSF = "bsf GPR[64]:W, GPR[64]:R"
CMOV = "cmovb GPR[64]:RW, GPR[64]:R"
DIV = "div GPR[64]:R"

PORTS = ("0", "1", "2", "3")
ALU, MUL, AGU, DATA = 0b0011, 0b0010, 0b0100, 0b1000
TRUTH = Value(
    PORTS,
    {
        ADD: ((ALU, 1),),
        ADD_LOAD: ((ALU, 1), (AGU, 1)),
        LOAD: ((AGU, 1),),
        IMUL: ((MUL, 1),),
        IMUL_LOAD: ((MUL, 1), (ALU, 1), (AGU, 1)),
        STORE: ((ALU, 1), (DATA, 1)),
    },
    5.0,
)
CLASSES = (
    BlockingClass(ADD, 2, ALU, (ADD, "and GPR[32]:RW, GPR[32]:R")),
    BlockingClass(LOAD, 1, AGU, (LOAD,)),
    BlockingClass(IMUL, 1, MUL, (IMUL,)),
    BlockingClass(STORE, 1, DATA, (STORE,), improper=True, beside=((ALU, 1),)),
)
BLOCKERS = {each.mask: each.blocker for each in CLASSES}


def witness(
    scheme: str,
    mask: int,
    surplus: float | None,
    below: int = 0,
    seen: WitnessOutcome | None = None,
    run: int = 1,
) -> Witness:
    """What ten copies of the blocking instruction beside a scheme show; usually a whole number of µops."""
    uops = 0 if surplus is None else round(surplus) - below
    if seen is None:
        seen = WitnessOutcome.USES if uops else WitnessOutcome.EVADES
    base = 10 / mask.bit_count()
    blocker = BLOCKERS[mask]
    return Witness(
        blocker=blocker,
        mask=mask,
        copies=10,
        base=flood_of(blocker, 10),
        base_cycles=None if surplus is None else base,
        tested=flood_of(blocker, 10, scheme),
        cycles=None if surplus is None else base + surplus / mask.bit_count(),
        samples=3,
        surplus=surplus,
        below=below,
        uops=uops,
        tolerance=0.3,
        seen=seen,
        run=run,
    )


def characterised(scheme: str, *witnesses: Witness, **other) -> Characterisation:
    return Characterisation(
        scheme,
        SchemeFate.CHARACTERISED,
        "remaining",
        usage=TRUTH.usage[scheme],
        witnesses=witnesses,
        **{"cycles": 0.5, "counted": 1.0, "runs": ("1×[0,1]", "1×[0,1]"), **other},
    )


VERDICTS = (
    characterised(ADD, witness(ADD, MUL, 0.0), witness(ADD, AGU, 0.02), witness(ADD, ALU, 1.04)),
    characterised(
        ADD_LOAD,
        witness(ADD_LOAD, MUL, 0.01),
        witness(ADD_LOAD, AGU, 0.98),
        witness(ADD_LOAD, ALU, 1.02),
        cycles=1.0,
        counted=2.0,
        doubts=("whether it has µops elsewhere cannot be seen",),
        alternatives=(((ALU, 2),),),
    ),
    Characterisation(
        BSF,
        SchemeFate.EXCLUDED,
        "remaining",
        NotCharacterised.NOT_INTEGER,
        "1.48 µops beside imul, of which 0 were found on fewer ports",
        cycles=4.0,
        witnesses=(
            witness(BSF, MUL, 1.48, seen=WitnessOutcome.ODD),
            witness(BSF, AGU, None, seen=WitnessOutcome.FAILED),
            witness(BSF, ALU, 1.0, seen=WitnessOutcome.UNSTABLE),
        ),
        facts=(VerdictFact(flood_of(IMUL, 10, BSF), 11.0, 11.48),),
        runs=("not a whole number of µops: 1.48",),
    ),
    Characterisation(
        CMOV,
        SchemeFate.AMBIGUOUS,
        "remaining",
        NotCharacterised.DISAGREEMENT,
        "repeated tests disagree",
        cycles=0.5,
        counted=1.0,
        witnesses=(
            witness(CMOV, MUL, 0.0, run=1),
            witness(CMOV, ALU, 1.0, run=1),
            witness(CMOV, MUL, 1.0, run=2),
            witness(CMOV, ALU, 1.0, below=1, run=2),
        ),
        alternatives=(((ALU, 1),), ((MUL, 1),)),
        runs=("1×[0,1]", "1×[1]"),
    ),
    Characterisation(
        DIV,
        SchemeFate.EXCLUDED,
        "candidates",
        NotCharacterised.TOO_SLOW,
        "takes 40 cycles alone; the setting `slowest` allows 25",
        cycles=40.0,
        facts=(VerdictFact(Experiment.of([DIV]), None, 40.0),),
    ),
    characterised(IMUL, witness(IMUL, MUL, 1.0), witness(IMUL, AGU, 0.0), witness(IMUL, ALU, 1.0, below=1)),
    characterised(IMUL_LOAD, witness(IMUL_LOAD, MUL, 1.0), cycles=1.0, counted=3.0),
    characterised(LOAD, witness(LOAD, AGU, 1.0), witness(LOAD, ALU, 0.0, seen=WitnessOutcome.UNDECIDED)),
    characterised(STORE, witness(STORE, DATA, 1.0), witness(STORE, ALU, 1.0), cycles=1.0, counted=2.0),
)


def result() -> ExplainResult:
    return ExplainResult(
        mapping=TRUTH,
        characterisations=VERDICTS,
        classes=CLASSES,
        blocking_answer=BlockingAnswer(TRUTH, verdict="the only mapping that explains the measurements"),
        r_max=5.0,
        noise=0.0012,
        counts_from="counter",
        warnings=("two ports are hardly told apart",),
        experiments=120,
        measurements=480,
        per_scheme=13.3,
        seconds=61.0,
    )


def toy_isa() -> ISA:
    """An instruction set of these schemes."""
    schemes = [*TRUTH.usage, BSF, CMOV, DIV, "and GPR[32]:RW, GPR[32]:R"]
    return new_isa("toy", schemes, "a test")


def explained_mapping(isa: ISA) -> PortMapping:
    """Stored with its verdicts."""
    told = {KEY: report_of(result(), 0.02, "cycles")}
    row = store_mapping("found", isa, TRUTH, origin=PortMapping.Origin.RUN, source="Explainable", report=told)
    store_characterisations(row, VERDICTS)
    return row

"""Rows that the tests of this room start from."""

import pytest

from inference.core.experiment import Experiment, Measured, MeasurementState
from inference.core.mapping import PortMapping as Mapping
from inference.isa.scheme import Scheme
from inference.models import ISA, ExperimentSet, PortMapping
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from inference.storage.rows import store_measurements

ADD, MUL, LOAD = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R", "vmovaps YMM:W, MEM[256]:R"


def scheme(text: str, extension: str, category: str, memory: str, width: int, exclusion: str = "") -> Scheme:
    mnemonic = text.partition(" ")[0]
    return Scheme(text, mnemonic, (), extension, category, "", memory, width, exclusion, mnemonic == "add")


@pytest.fixture
def isa(db: None) -> ISA:
    schemes = [
        scheme(ADD, "BASE", "arithmetic", "", 64),
        scheme(MUL, "BASE", "multiply", "", 64),
        scheme(LOAD, "AVX", "move", "R", 256),
        scheme("vpclmulqdq YMM:W, YMM:R, YMM:R, IMM[8]:R", "AVX+VPCLMULQDQ", "multiply", "", 256),
        scheme("wbinvd", "486", "system", "", 0, "privileged"),
    ]
    return store_isa("x86-64", schemes, "by hand")


@pytest.fixture
def measured(isa: ISA) -> ExperimentSet:
    row = ExperimentSet.objects.create(name="measured", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    results = [
        Measured(Experiment.of([ADD]), 0.5, annotations={"IACA": 0.5, "OSACA": 1.0}),
        Measured(Experiment.of([MUL]), 1.0, annotations={"IACA": 1.5}),
        Measured(Experiment.of([ADD, MUL]), 1.1),
        Measured(Experiment.of({ADD: 4}), 2.5),
        Measured(Experiment.of([LOAD]), 0.5),
        Measured(Experiment.of([LOAD, ADD]), None, MeasurementState.FAILED, note="crash"),
    ]
    store_measurements(row, results)
    return row


VALUE = Mapping(("0", "1"), {ADD: ((0b11, 1),), MUL: ((0b10, 1),)})


@pytest.fixture
def mapping(isa: ISA) -> PortMapping:
    return store_mapping("m", isa, VALUE, origin=PortMapping.Origin.IMPORT)

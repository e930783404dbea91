"""A logged-in browser and a small world: one instruction set, one set of experiments, one mapping."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.isa.scheme import Operand, Scheme
from inference.models import ISA, ExperimentSet, PortMapping
from inference.storage.instruction_sets import store_isa
from inference.storage.mappings import store_mapping
from inference.storage.rows import store_measurements

ADD = "add GPR[64]:RW, GPR[64]:R"
IMUL = "imul GPR[64]:RW, GPR[64]:R"
LOAD = "mov GPR[64]:W, MEM[64]:R"


def scheme(text: str, *, memory: str = "", exclusion: str = "", extension: str = "BASE") -> Scheme:
    """A scheme with as many facts as the pages show."""
    mnemonic, _, _ = text.partition(" ")
    operand = Operand("register", "GPR[64]", "RW", 64, ())
    return Scheme(text, mnemonic, (operand,), extension, "arithmetic", "legacy", memory, 64, exclusion, False)


@pytest.fixture
def visitor(client: Client, administrator: User) -> Client:
    """A client that is logged in and reports server errors as responses, as a browser sees them."""
    client.force_login(administrator)
    client.raise_request_exception = True
    return client


@pytest.fixture
def isa(db: None) -> ISA:
    """Three schemes."""
    schemes = [scheme(ADD), scheme(IMUL, extension="X64"), scheme(LOAD, memory="R", exclusion="reads memory")]
    return store_isa("x86-64", schemes, "a test")


@pytest.fixture
def experiment_set(isa: ISA) -> ExperimentSet:
    """Three measured experiments; one has another tool's answer."""
    row = ExperimentSet.objects.create(name="small", isa=isa, origin="upload", source="small.csv")
    measured = [
        Measured(Experiment.of({ADD: 1}), 0.25),
        Measured(Experiment.of({ADD: 2, IMUL: 1}), 1.02, annotations={"llvm-mca": 1.5}, note="two ports"),
        Measured(Experiment.of({LOAD: 3}), 1.5),
    ]
    store_measurements(row, measured)
    return row


@pytest.fixture
def mapping(isa: ISA) -> PortMapping:
    """A mapping of two schemes on three ports."""
    value = Mapping(ports=("p0", "p1", "p5"), usage={ADD: ((0b111, 1),), IMUL: ((0b010, 1),)})
    return store_mapping("three ports", isa, value, origin=PortMapping.Origin.IMPORT)

"""Rows that the tests of this room start from."""

import pytest

from inference.isa import x86
from inference.isa.scheme import Scheme
from inference.isa.targets import X86
from inference.models import ISA, ExperimentSet
from inference.storage.instruction_sets import store_isa


def scheme(text: str, **facts: object) -> Scheme:
    """A scheme of which mostly the text matters."""
    plain = {
        "mnemonic": text.partition(" ")[0],
        "operands": (),
        "extension": "BASE",
        "category": "arithmetic",
        "encoding": "legacy",
        "memory": "",
        "width": 64,
        "exclusion": "",
        "starter": False,
    }
    return Scheme(text=text, **{**plain, **facts})


@pytest.fixture
def toy(db: None) -> ISA:
    """An instruction set of three schemes."""
    return store_isa("toy", [scheme("add R, R"), scheme("mul R, R"), scheme("nop")], "by hand")


@pytest.fixture
def default_x86(db: None) -> ISA:
    """The schemes of x86-64 that are offered for inference, which are all that published files name."""
    return store_isa(X86, [each for each in x86.schemes() if not each.exclusion], "the default schemes")


@pytest.fixture
def empty_set(toy: ISA) -> ExperimentSet:
    """A set without measurements."""
    return ExperimentSet.objects.create(name="measured", isa=toy, origin=ExperimentSet.Origin.UPLOAD)

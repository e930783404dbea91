"""Rows, programs and sites that the tests of AnICA's features start from."""

from tests.rows.lab import machine
from tests.rows.library import experiment_set, isa, mapping, visitor
from tests.rows.programs import (
    accuracy_check,
    block_file,
    block_set,
    comparison,
    coverage,
    difference,
    discovery,
    evaluation,
    matrix,
    model_check,
    program,
    question,
    reader,
    resource_mapping,
    run,
    session,
    upload,
    world,
)
from tests.runs.fixtures import migrated, site, staffed

__all__ = [
    "accuracy_check",
    "block_file",
    "block_set",
    "comparison",
    "coverage",
    "difference",
    "discovery",
    "evaluation",
    "experiment_set",
    "isa",
    "machine",
    "mapping",
    "matrix",
    "migrated",
    "model_check",
    "program",
    "question",
    "reader",
    "resource_mapping",
    "run",
    "session",
    "site",
    "staffed",
    "upload",
    "visitor",
    "world",
]

"""All fixtures of rows, programs and sites, for the folders whose tests start from them."""

from tests.rows.lab import machine
from tests.rows.library import experiment_set, isa, mapping, visitor
from tests.rows.programs import (
    account_numbers,
    block_file,
    block_set,
    campaign_numbers,
    discovery,
    evaluation,
    program,
    reader,
    resource_mapping,
    result_numbers,
    run_numbers,
    session,
    upload,
    world,
)
from tests.rows.runs import (
    accuracy_check,
    comparison,
    coverage,
    difference,
    matrix,
    model_check,
    question,
    run,
)
from tests.rows.toy import default_x86, empty_set, toy
from tests.runs.fixtures import migrated, site, staffed

__all__ = [
    "account_numbers",
    "accuracy_check",
    "block_file",
    "block_set",
    "campaign_numbers",
    "comparison",
    "coverage",
    "default_x86",
    "difference",
    "discovery",
    "empty_set",
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
    "result_numbers",
    "run",
    "run_numbers",
    "session",
    "site",
    "staffed",
    "toy",
    "upload",
    "visitor",
    "world",
]

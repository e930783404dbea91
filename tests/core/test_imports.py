"""What importing the core costs."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
import inference.core, inference.core.cegar
import inference.core.identity
import inference.core.evaluator, inference.core.metrics, inference.core.schedule
import inference.core.resources, inference.core.evaluator
print(*sorted({"scipy", "numba", "plotly", "z3", "django"} & set(sys.modules)))
"""


def test_the_core_loads_neither_scipy_nor_numba_before_they_are_needed() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_few_experiments_are_predicted_without_numba() -> None:
    script = """
import sys
sys.modules["numba"] = None
from inference.core.evaluator import Evaluator
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.core.tables import ExperimentTable
table = ExperimentTable.from_experiments([Experiment.of({"a": 3})])
print(*Evaluator(table, 2, compiled=False).mapping_cycles(PortMapping(("x", "y"), {"a": ((3, 1),)})))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1.5"]

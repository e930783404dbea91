"""Runs, waiting and done, with descriptions and results as the site itself stores them."""

from __future__ import annotations

import pytest

from anica_app.features.coverage.job import CoverageConfig
from anica_app.features.matrices.job import MatrixConfig
from anica_app.models import Discovery
from inference.core.metrics import score
from inference.core.model_check import AloneCheck, AloneVerdict, OrderSummary
from inference.core.protocols import Json
from inference.features.judging.findings.events import MixesMeasured, OrdersMeasured, SchemesAlone
from inference.features.judging.findings.llvm_job import DifferenceConfig, DifferingScheme, LlvmDifference
from inference.features.judging.findings.model_check import CheckConfig
from inference.figures.heatmap import heat_map
from inference.isa.targets import X86
from inference.models import (
    BasicBlockSet,
    ExperimentSet,
    Machine,
    PortMapping,
    Predictor,
    Run,
)
from inference.runs import lifecycle
from inference.runs.journal import write
from inference.runs.request import RunRequest
from tests.features.accuracy_checks.checked import checked_run
from tests.features.engine.compared import compare
from tests.rows.library import ADD, IMUL, LOAD


@pytest.fixture
def run(experiment_set: ExperimentSet) -> Run:
    """An inference that waits."""
    config = {"source": {"datasets": [experiment_set.pk]}, "ports": 3, "settings": {"population": 40}}
    return lifecycle.submit("infer", config, "a run")


@pytest.fixture
def question(db: None) -> Run:
    """Of a predictor that has not answered yet."""
    row = Predictor.objects.create(name="a tool", kind="planted", key="a" * 64)
    return lifecycle.submit("ask", {"predictors": [row.pk], "blocks": ["4801d8"]}, "a question")


@pytest.fixture
def comparison(experiment_set: ExperimentSet, mapping: PortMapping) -> Run:
    """Of the mapping with what was measured."""
    made = compare({"experiment_set": experiment_set.pk, "mappings": [mapping.pk]})
    assert made.state == "done", made.error
    return made


@pytest.fixture
def coverage(block_set: BasicBlockSet, discovery: Discovery) -> Run:
    """What the discoveries of a campaign include of the set: one of two interesting blocks."""
    config = CoverageConfig(campaigns=[discovery.campaign_id], block_set=block_set.pk, columns=["one", "two"])
    result = {
        **covered_by(discovery),
        "interesting": 2,
        "uncovered_at": [1],
        "url": f"/block-sets/{block_set.pk}/?tab=coverage",
    }
    return ended("a coverage", "coverage", config, result)


def covered_by(discovery: Discovery) -> Json:
    """What a run has found that looked at two blocks, of which the discovery includes one."""
    return {
        "discoveries": [discovery.pk],
        "blocks": 2,
        "strange": 1,
        "covered": 1,
        "by_campaign": {str(discovery.campaign_id): 1},
        "by_discovery": {str(discovery.pk): 1},
        "best": [{"chosen": [discovery.pk], "covered": 1, "proven": True}],
        "unsaid": [],
        "widened": 0,
        "isa": X86,
        "uncovered": ["480fafc3"],
        "overlap": {},
    }


def ended(name: str, kind: str, config: RunRequest, result: Json) -> Run:
    """A run that is done, with the whole description that such a run has."""
    return Run.objects.create(name=name, kind=kind, state="done", config=config.as_json(), result=result)


@pytest.fixture
def matrix(block_set: BasicBlockSet) -> Run:
    """Of the two columns of the set, which disagree about one block."""
    columns = [
        {"id": one.pk, "name": one.name, "predictor": None} for one in block_set.columns.order_by("position")
    ]
    result = {
        "block_set": block_set.pk,
        "name": f"2 tools on {block_set.name}",
        "blocks": 3,
        "columns": columns,
        "both": [[3, 2], [2, 2]],
        "differing": [[0, 1], [1, 0]],
    }
    config = MatrixConfig(block_set=block_set.pk, columns=[column["id"] for column in columns])
    return ended("a matrix", "matrix", config, result)


@pytest.fixture
def accuracy_check(machine: Machine, block_set: BasicBlockSet) -> Run:
    """Of two predictors, one of which is twice too slow."""
    return checked_run(machine, block_set)


@pytest.fixture
def difference(mapping: PortMapping) -> Run:
    """A report of a mapping beside LLVM's model: of one scheme it says something else."""
    scheme = DifferingScheme(
        ADD, 1, "add rax, rbx", 0.5, 0.5, "1×[a]", [[1, 1]], 1, 1.0, 1.0, [["P0", 0.25]], "mca"
    )
    facts = ("a mapping", "llvm-mca 22.1.0", "22", "haswell", 0.2, 3, 1)
    report = LlvmDifference(*facts, [scheme], [[LOAD, "unsupported"]], ["made by: a test"])
    config = DifferenceConfig(mapping=mapping.pk, cpu="haswell", release="22")
    return ended(
        "a difference", "llvm-difference", config, {"report": report.as_json(), "mapping": mapping.pk}
    )


@pytest.fixture
def model_check(machine: Machine, mapping: PortMapping) -> Run:
    """Of the port mapping model: three schemes alone, mixes of one length."""
    rows = [
        AloneCheck(ADD, 0.25, 0.25, AloneVerdict.WITHIN),
        AloneCheck(IMUL, 1.0, 0.5, AloneVerdict.DISCREPANCY),
        AloneCheck(LOAD, None, None, AloneVerdict.NOT_MEASURED, "it crashes"),
    ]
    measured, modelled = [1.0, 2.0, 3.0], [1.0, 2.0, 3.5]
    scores, heat = score(measured, modelled), heat_map(measured, modelled)
    events = [
        SchemesAlone(rows),
        MixesMeasured(2, asked=5, settled=5, scores=scores, slower=1, faster=0, planned=5, heat_map=heat),
        OrdersMeasured(**OrderSummary(8, 5, 4, 0.01, 0.07, 1, ()).as_json(), planned=5),
    ]
    config = CheckConfig(machine=machine.pk, isa=machine.isa.name, reference=mapping.pk)
    run = Run.objects.create(name="a check", kind="check-model", state="done", config=config.as_json())
    write(Run.objects.all(), run.pk, [event.entry for event in events])
    return run

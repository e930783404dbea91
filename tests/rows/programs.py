"""A site with a little of everything, and programs that call it with tokens."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from anica_app.features.coverage.job import CoverageConfig
from anica_app.formats.campaign_zip import read_part, tree_of_path
from anica_app.models import Campaign, Discovery, Family
from anica_app.storage.campaigns import store_campaign
from inference.core.experiment import Unit
from inference.core.latency import LatencyProblem, infer_latencies
from inference.core.resources import ResourceMapping as Resources
from inference.features.learning.core_model.storing import store_parts
from inference.formats.block_sets import BlockSetOptions
from inference.isa.front_end import CodeReading, FrontEndCode
from inference.isa.x86.chains import links_of, pair_chains
from inference.isa.x86.front_end import front_end_codes
from inference.measuring.simulated_chains import SimulatedLatencies, sampled_latencies
from inference.measuring.simulated_front_end import SimulatedFrontEnd
from inference.models import (
    ISA,
    BasicBlockSet,
    Evaluation,
    ExperimentSet,
    InstructionScheme,
    LatencySet,
    Machine,
    MeasuredFrontEnd,
    PortMapping,
    Predictor,
    ResourceMapping,
    Run,
    Upload,
)
from inference.storage.block_sets import store
from inference.storage.core_models import store_front_end
from inference.storage.evaluations import evaluate
from inference.storage.latencies import store_latencies
from inference.storage.mappings import store_resource_mapping
from inference.storage.rows import load_measurements, store_measurements
from pmweb.accounts.api_tokens import issue
from pmweb.models import BrowserSession, Scope
from pmweb.sharing import ShareRequest, share
from tests.anica.formats.published import write_directory
from tests.rows.lab import machine
from tests.rows.library import ADD, IMUL, LOAD, experiment_set, isa, mapping
from tests.rows.runs import covered_by, ended

__all__ = ["ADD", "IMUL", "LOAD", "experiment_set", "isa", "machine", "mapping"]


@dataclass
class Program:
    """A program with a token, or without one a browser's session; answers are (status, JSON)."""

    client: Client
    token: str = ""

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Call an operation below the API's root."""
        response = self.raw(method, path, body, **headers)
        return response.status_code, json.loads(response.content) if response.content else None

    def raw(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The same with the whole response."""
        return self.client.generic(
            method,
            f"/api/v1{path}",
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode(),
            content_type="application/json",
            headers={**({"Authorization": f"Bearer {self.token}"} if self.token else {}), **headers},
        )

    def get(self, path: str) -> Any:
        """What a GET answers, which has to be a success."""
        status, answer = self("GET", path)
        assert status == 200, answer
        return answer


def program_of(user: User, scope: Scope = Scope.ADMINISTER) -> Program:
    """One of a user's programs."""
    return Program(Client(), issue(user, "a test", scope, None)[1])


def session_of(user: User) -> Program:
    """A browser in which somebody has just logged in."""
    client = Client()
    client.force_login(user)
    return Program(client)


@pytest.fixture
def program(administrator: User) -> Program:
    """One that may do everything."""
    return program_of(administrator)


@pytest.fixture
def session(administrator: User) -> Program:
    """An administrator's browser."""
    return session_of(administrator)


@pytest.fixture
def reader(administrator: User) -> Program:
    """One that may only read."""
    return program_of(administrator, Scope.READ)


@pytest.fixture
def resource_mapping(isa: ISA) -> ResourceMapping:
    """Two schemes on two resources."""
    value = Resources(("r0", "r01"), {ADD: ((1, 0.5),), IMUL: ((0, 1.0), (1, 0.5))})
    return store_resource_mapping("two resources", isa, value, origin=ResourceMapping.Origin.IMPORT)


@pytest.fixture
def evaluation(mapping: PortMapping, experiment_set: ExperimentSet) -> Evaluation:
    """Of the mapping on the set."""
    return evaluate(mapping, experiment_set, Unit.CYCLES)


BLOCKS = b"bb,one,two\n4801d8,1.0,1.1\n480fafc3,1.0,3.0\n4829d8,2.0,-1\n"


@pytest.fixture
def block_set(isa: ISA) -> BasicBlockSet:
    """Three blocks in two columns."""
    return store(io.BytesIO(BLOCKS), "blocks.csv", "three blocks", BlockSetOptions())[0]


@pytest.fixture
def block_file(isa: ISA) -> Upload:
    """A file with blocks that waits."""
    return Upload.objects.create(file_name="blocks.csv", beginning=BLOCKS, sha256="1" * 64)


@pytest.fixture
def discovery(isa: ISA, tmp_path: Path) -> Discovery:
    """Of a small imported campaign: its last decision rests on three blocks, and files came with it.

    A run has looked at two blocks, of which it includes one.
    """
    top = write_directory(tmp_path / "small")
    made = store_campaign(read_part(tree_of_path(top)), "small").discoveries.get()
    result = {**covered_by(made), "url": f"/campaigns/{made.campaign_id}/?tab=selection"}
    ended("its coverage", "coverage", CoverageConfig(campaigns=[made.campaign_id]), result)
    return made


def family_of(discovery: Discovery) -> Family:
    """Of this one alone."""
    made = Family.objects.create(
        campaign=discovery.campaign,
        number=0,
        name="add: throughput",
        bound="ports",
        kind="difference",
        slower=2,
        code=bytes.fromhex("4801d8"),
        predictions=[[1.0, 1.0], [3.0, 3.0]],
        share=0.5,
    )
    made.discoveries.add(discovery)
    return made


@pytest.fixture
def upload(isa: ISA) -> Upload:
    """A file that waits."""
    content = f'experiment,cycles\n"{ADD}",0.25\n'.encode()
    return Upload.objects.create(file_name="adds.csv", beginning=content, sha256="0" * 64)


def measured_again(experiment_set: ExperimentSet) -> ExperimentSet:
    """A second set with the same experiments."""
    row = ExperimentSet.objects.create(name="again", isa=experiment_set.isa, origin="upload")
    store_measurements(row, load_measurements(experiment_set))
    return row


def latencies(machine: Machine, name: str = "simulated") -> LatencySet:
    """Of one scheme, simulated."""
    pairs = [pair_chains(link) for link in links_of(ADD)]
    found = infer_latencies(LatencyProblem(pairs, []), SimulatedLatencies(sampled_latencies()))
    return store_latencies(name, machine, found, {})


@cache
def front_end_readings() -> list[tuple[FrontEndCode, CodeReading]]:
    """Simulated."""
    codes = front_end_codes(offsets=True)
    return list(zip(codes, SimulatedFrontEnd().time([asked.code for asked in codes]), strict=True))


def front_end(machine: Machine) -> MeasuredFrontEnd:
    """Simulated."""
    return store_front_end("simulated", machine, front_end_readings(), {})


@pytest.fixture
def result_numbers(
    machine: Machine,
    mapping: PortMapping,
    resource_mapping: ResourceMapping,
    experiment_set: ExperimentSet,
    evaluation: Evaluation,
) -> dict[str, int]:
    """Numbers of what is measured and inferred."""
    scheme = InstructionScheme.objects.get(text=ADD)
    other = PortMapping.objects.create(
        name="another", isa=mapping.isa, origin="import", ports=["a"], created=timezone.now()
    )
    other.usages.create(scheme=scheme, mask=1, count=1)
    measured = front_end(machine)
    return {
        "isa_id": mapping.isa_id,
        "scheme_id": scheme.pk,
        "machine_id": machine.pk,
        "token_id": machine.tokens.create(digest="d").pk,
        "set_id": experiment_set.pk,
        "other_set_id": measured_again(experiment_set).pk,
        "experiment_id": experiment_set.measurements.earliest("id").experiment_id,
        "mapping_id": mapping.pk,
        "other_id": other.pk,
        "resource_mapping_id": resource_mapping.pk,
        "latency_set_id": latencies(machine).pk,
        "other_latency_set_id": latencies(machine, "another").pk,
        "front_end_id": measured.pk,
        "core_model_id": store_parts("lab", mapping, None, measured).pk,
        "evaluation_id": evaluation.pk,
    }


@pytest.fixture
def run_numbers(
    run: Run,
    question: Run,
    coverage: Run,
    matrix: Run,
    accuracy_check: Run,
    comparison: Run,
    difference: Run,
    model_check: Run,
) -> dict[str, int]:
    """Numbers of runs of several kinds."""
    return {
        "run_id": run.pk,
        "inference_id": run.pk,
        "question_id": question.pk,
        "coverage_id": coverage.pk,
        "matrix_id": matrix.pk,
        "accuracy_check_id": accuracy_check.pk,
        "comparison_id": comparison.pk,
        "difference_id": difference.pk,
        "check_id": model_check.pk,
    }


@pytest.fixture
def campaign_numbers(discovery: Discovery) -> dict[str, int]:
    """Numbers of a campaign, its parts and another campaign."""
    campaign = discovery.campaign
    return {
        "campaign_id": campaign.pk,
        "other_campaign_id": Campaign.objects.create(name="another campaign", origin="import").pk,
        "discovery_id": discovery.pk,
        "family_id": family_of(discovery).pk,
        "file_id": campaign.files.earliest("id").pk,
        "number": campaign.batches.earliest("number").number,
        "step": 4,
    }


@pytest.fixture
def account_numbers(administrator: User, mapping: PortMapping) -> dict[str, int]:
    """Numbers of accounts and of what belongs to them."""
    request = ShareRequest(items=[f"mapping:{mapping.pk}"])
    return {
        "account_id": User.objects.create(username="somebody").pk,
        "shared_link_id": share(administrator, request)[0].pk,
        "own_session_id": _own_session(administrator),
        "own_token_id": issue(administrator, "another", Scope.READ, None)[0].pk,
    }


@pytest.fixture
def world(
    result_numbers: dict[str, int],
    run_numbers: dict[str, int],
    campaign_numbers: dict[str, int],
    account_numbers: dict[str, int],
    upload: Upload,
    block_set: BasicBlockSet,
    block_file: Upload,
) -> dict[str, int]:
    """{parameter of a path: the number of a row that is there}."""
    tool = Predictor.objects.create(name="b tool", kind="planted", key="b" * 64, origin="configured")
    return {
        **result_numbers,
        **run_numbers,
        **campaign_numbers,
        **account_numbers,
        "upload_id": upload.pk,
        "block_set_id": block_set.pk,
        "column_id": block_set.columns.get(name="two").pk,
        "block_file_id": block_file.pk,
        "predictor_id": tool.pk,
        "place": 0,
        "position": 0,
        "first": 0,
        "second": 1,
    }


def _own_session(user: User) -> int:
    """Of a browser in which the user is logged in."""
    Client().force_login(user)
    return BrowserSession.objects.filter(user=user).latest("id").pk

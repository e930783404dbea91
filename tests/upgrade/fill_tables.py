"""Rows for the tables that `fill` leaves empty, of releases from 0.8.0 on: run by `make` after it.

Runs of the release itself make them where a run can be done here; the rest comes from the fixtures of the
release's own tests.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import django

if not Path("anica_app/features/families").is_dir():
    sys.exit()  # the release is an older one

django.setup()

from django.conf import settings  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from anica_app.models import Campaign  # noqa: E402
from inference.core.mapping import PortMapping as Mapping  # noqa: E402
from inference.core.resources import ResourceMapping as Resources  # noqa: E402
from inference.features.asking.predictors.query import row_for  # noqa: E402
from inference.features.learning.core_model.storing import store_parts  # noqa: E402
from inference.isa import x86  # noqa: E402
from inference.isa.targets import X86  # noqa: E402
from inference.models import (  # noqa: E402  # noqa: E402
    ISA,
    AnswerCache,
    BasicBlockSet,
    ExperimentSet,
    Machine,
    PortMapping,
    Predictor,
    ResourceMapping,
    Run,
    Upload,
    identity_key,
)
from inference.runs import lifecycle  # noqa: E402
from inference.runs.machines import sessions  # noqa: E402
from inference.storage.core_models import store_front_end  # noqa: E402
from inference.storage.instruction_sets import store_isa  # noqa: E402
from inference.storage.mappings import store_mapping, store_resource_mapping  # noqa: E402
from pmweb import retention  # noqa: E402
from pmweb.accounts import api_tokens, people  # noqa: E402
from pmweb.models import Role, Scope  # noqa: E402
from pmweb.sharing import ShareRequest, share  # noqa: E402
from tests.features.accuracy_checks.checked import checked_run  # noqa: E402
from tests.rows.lab import FACTS  # noqa: E402
from tests.rows.programs import front_end_readings, latencies  # noqa: E402
from tests.simulated import simulated_machine  # noqa: E402
from tests.work import work_off  # noqa: E402

settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
_UNCOLLECTED = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
settings.STORAGES = {**settings.STORAGES, "staticfiles": _UNCOLLECTED}

PORTS = {
    "add GPR[64]:RW, GPR[64]:R": (0b0011,),
    "imul GPR[64]:RW, GPR[64]:R": (0b0010,),
    "bsf GPR[64]:RW, GPR[64]:R": (0b0110,),
    "popcnt GPR[64]:W, GPR[64]:R": (0b0010,),
    "mov GPR[64]:W, MEM[64]:R": (0b1000,),
    "add GPR[64]:RW, MEM[64]:R": (0b0011, 0b1000),
}
"""The ports of each µop of a made-up processor."""
MISJUDGED = {"bsf GPR[64]:RW, GPR[64]:R": (0b0010, 0b0010, 0b0010)}
"""What the second of two predictors believes."""
BLOCKS = ("4801d8", "480fafc3", "4801d8480fafc3", "488b07", "480fbcc3", "f3480fb8c3")
MAX_ANSWERS = 50
HASTY = {"batch": 15, "samples": 15, "first_look": 10, "confirming": 15, "orders": 1, "longest": 3}


def mapping_of(ports: dict[str, tuple[int, ...]]) -> Mapping:
    """A mapping with a µop on each of these sets of ports."""
    usage = {
        text: tuple((mask, masks.count(mask)) for mask in dict.fromkeys(masks))
        for text, masks in ports.items()
    }
    return Mapping(("0", "1", "2", "3"), usage, 4.0)


def done(kind: str, config: dict[str, Any], name: str) -> Run:
    """A run that has ended well."""
    run = work_off(lifecycle.submit(kind, config, name, people.ensure_administrator()))
    assert run.state == Run.State.DONE, f"{name}: {run.error}"
    return run


def uploaded(name: str, content: str) -> Upload:
    """A file that waits with a preview."""
    data = content.encode()
    digest = hashlib.sha256(data).hexdigest()
    field = "beginning" if hasattr(Upload, "beginning") else "content"  # of older releases
    upload = Upload.objects.create(
        file_name=name, sha256=digest, created_by=people.ensure_administrator(), **{field: data}
    )
    done("read", {"upload": upload.pk}, f"reading {name}")
    return upload


def fill_machines(isa: ISA, truth: Mapping) -> Machine:
    """A simulated machine, and one whose agent is away, with a batch of a run that was cancelled."""
    simulated = simulated_machine(isa, truth, name="simulated", noise=0.005, seed=3)
    lab = sessions.add_machine("lab", isa)
    sessions.create_token(lab)
    seen = {"session": 1, "last_seen": timezone.now(), "noise": 0.004, "ghz": 3.1, "rate": 80}
    Machine.objects.filter(pk=lab.pk).update(cpu=FACTS["cpu"], facts=FACTS, state="idle", **seen)
    lab.readings.create(at=timezone.now(), state="idle", noise=0.004, ghz=3.1, rate=80)
    run = lifecycle.submit("measure", {"machine": lab.pk, "plan": "mixes", "mixes": 3}, "not measured")
    lab.batches.create(run=run, run_token=1, content={"experiments": []}, size=1)
    lifecycle.cancel(run)
    return simulated


def fill_measured(isa: ISA, machine: Machine, truth: PortMapping) -> ExperimentSet:
    """Sets, and what is inferred from them: mappings with fronts and proofs, latencies, a core model."""
    measuring = {"machine": machine.pk, "plan": "mixes", "mixes": 12, "length": 3}
    sets = [
        ExperimentSet.objects.get(run=done("measure", {**measuring, "seed": seed}, f"mixes {seed}"))
        for seed in (1, 2)
    ]
    done("compare-sets", {"first": sets[0].pk, "second": sets[1].pk}, "sets compared")
    source = {"machine": machine.pk}
    pmevo = {"search": "both", "population": 30, "max_generations": 3, "threads": 1}
    done(
        "infer",
        {"algorithm": "pmevo", "ports": 4, "source": source, "mixes": 20, "settings": pmevo},
        "measured",
    )
    done("infer", {"algorithm": "explain", "source": source, "mixes": 10}, "explained")
    done("check-model", {**source, "reference": truth.pk, "mixes": 3, "sequences": 2}, "checked")
    done("block", {**source, "blocks": list(BLOCKS)}, "blocks measured")
    usage = dict.fromkeys(list(PORTS)[:2], ((0, 0.5), (1, 1.0)))
    value = Resources(("r0", "r01"), usage)
    resources = store_resource_mapping("resources", isa, value, origin=ResourceMapping.Origin.IMPORT)
    done("evaluate", {"resource_mapping": resources.pk, "experiment_set": sets[0].pk}, "resources judged")
    front_end = store_front_end("front end", machine, front_end_readings()[::8], {})
    store_parts("core model", truth, latencies(machine), front_end)
    return sets[0]


def fill_predictors() -> None:
    """Configured ones: two whose programs are on this computer, and one whose program is not."""
    configured = Predictor.Origin.CONFIGURED
    row_for("llvm-mca", {"cpu": "haswell"}, "llvm-mca as configured", configured)
    echo = {"command": ["/bin/echo", "2.5"], "title": "always 2.5", "form": "hex"}
    row_for("command", echo, "a command", configured)
    row_for("core-model", {"model": "core model"}, "the core model", configured)
    identity = {"kind": "nanobench", "program": "/opt/nanoBench/nanoBench", "version": "1"}
    Predictor.objects.create(
        name="nanoBench as configured",
        kind="nanobench",
        options={"program": "/opt/nanoBench/nanoBench", "prefix": "/usr/bin/taskset -c 1"},
        identity=identity,
        key=identity_key(identity),
        origin=configured,
    )


def fill_campaigns(predictors: list[int], block_set: BasicBlockSet) -> None:
    """Two campaigns, of which the second's families are held against the first's, and one about a block."""
    asked = {"predictors": predictors, "settings": HASTY, "evaluate": 40, "end": {"blocks": 40}}
    asked["scheme_filter"] = '"GPR[64]" -width:128 -width:256'
    for seed in (1, 2):
        done("campaign", {**asked, "seed": seed}, f"campaign {seed}")
    first, second = Campaign.objects.filter(name__startswith="campaign ").order_by("pk")
    first.families.update(mark="known", note="a note")
    done("families", {"campaign": second.pk, "against": first.pk, "evaluate": 0}, "families anew")
    done("generalise", {"predictors": predictors, "block": "480fbcc34801d8", "settings": HASTY}, "one block")
    covering = {"campaigns": [first.pk], "block_set": block_set.pk, "columns": ["one", "two"], "interest": {}}
    done("coverage", covering, "covered")


def fill_blocks(
    machine: Machine, predictors: list[int], recorded: ExperimentSet, mapping: PortMapping
) -> None:
    """Block sets with columns, questions, comparisons, and what campaigns find."""
    rows = "".join(f"{code},{at + 1}.0,{at % 2 + 1}.5\n" for at, code in enumerate(BLOCKS))
    upload = uploaded("blocks.csv", f"bb,one,two\n{rows}")
    done("import-anica", {"upload": upload.pk, "name": "blocks"}, "blocks imported")
    block_set = BasicBlockSet.objects.get(name="blocks")
    done("columns", {"block_set": block_set.pk, "predictors": predictors[:1]}, "a column")
    reference = block_set.columns.get(name="one").pk
    done("accuracy", {"block_set": block_set.pk, "reference": reference}, "accuracy")
    checked_run(machine, block_set)
    done("ask", {"predictors": predictors, "blocks": list(BLOCKS), "anew": True}, "a question")
    done("matrix", {"predictors": predictors, "blocks": 30, "length": 2}, "a matrix")
    compared = {"experiment_set": recorded.pk, "mappings": [mapping.pk], "predictors": predictors[1:]}
    done("comparison", compared, "a comparison")
    fill_campaigns(predictors, block_set)
    for predictor in predictors:  # a campaign leaves thousands of answers
        first = AnswerCache.objects.filter(predictor=predictor).order_by("pk")[:MAX_ANSWERS]
        AnswerCache.objects.filter(predictor=predictor).exclude(pk__in=[row.pk for row in first]).delete()


def fill_people(mapping: PortMapping) -> None:
    """Roles, tokens, links, sessions, failures, and what they leave in the audit log."""
    administrator = people.ensure_administrator()
    viewer, _ = people.invite("vera", Role.VIEWER, by=administrator)
    operator, _ = people.invite("otto", Role.OPERATOR, by=administrator)
    people.deactivate(people.invite("gone", Role.OPERATOR, by=administrator)[0], by=administrator)
    operator.set_password("a long password of three words")
    operator.save()
    for user, scope in ((administrator, Scope.ADMINISTER), (operator, Scope.OPERATE), (viewer, Scope.READ)):
        api_tokens.issue(user, f"{user.username}'s script", scope, None, by=user)
    api_tokens.issue(operator, "a revoked one", Scope.READ, None, by=operator)
    api_tokens.revoke(operator.api_tokens.filter(name="a revoked one"), by=operator)
    share(operator, ShareRequest(items=[f"mapping:{mapping.pk}"], title="shared"), by=operator)
    for password in ("wrong", "a long password of three words"):
        browser = Client(headers={"user-agent": "a browser"})
        browser.post("/login/", {"username": operator.username, "password": password})
    browser.post(f"/mappings/{mapping.pk}/edit/", {"name": mapping.name, "note": "noted"})
    retention.request_pruning(administrator, dry=True)
    row = retention.claim()
    assert row is not None
    retention.prune(row)


def main() -> None:
    """Fill the database that the settings name."""
    isa = store_isa(X86, [scheme for scheme in x86.schemes() if scheme.text in PORTS], "a few")
    truth = mapping_of(PORTS)
    mappings = [
        store_mapping(name, isa, value, origin=PortMapping.Origin.IMPORT)
        for name, value in (("true ports", truth), ("wrong ports", mapping_of(PORTS | MISJUDGED)))
    ]
    simulated = fill_machines(isa, truth)
    recorded = fill_measured(isa, simulated, mappings[0])
    predictors = [row_for("mapping", {"mapping": row.name}).pk for row in mappings]
    fill_predictors()
    fill_blocks(simulated, predictors, recorded, mappings[0])
    upload = uploaded("mixes.csv", f'experiment,cycles\n"{next(iter(PORTS))}",0.5\n')
    done("import", {"upload": upload.pk, "name": "imported", "isa": isa.name}, "an import")
    uploaded("waiting.csv", f'experiment,cycles\n"{next(iter(PORTS))}",0.25\n')
    lifecycle.submit(
        "evaluate",
        {"mapping": mappings[0].pk, "experiment_set": recorded.pk},
        "with a webhook",
        webhook="https://example.org/ended",
    )
    fill_people(mappings[0])
    for run in Run.objects.order_by("pk"):
        sys.stdout.write(f"{run.name}: {run.state} {run.error}\n")


main()

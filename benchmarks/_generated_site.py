"""A site after years of use, made in a minute: a million measurements, 2,000 schemes, 50 port mappings.

Rows are inserted in bulk, past the importers. What only a run can make is made by runs on small inputs, or
once and then copied; runs that measure are rows without their journal's pictures.
"""

from __future__ import annotations

import copy
import io
import random
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
from django.utils import timezone

from anica_app.models import Campaign, Discovery, Generalisation, GeneralisationStep
from benchmarks._generated_campaign import generated_campaign
from benchmarks._generated_sets import generated_sets
from benchmarks._in_process_worker import done, read_uploads
from benchmarks.sets import generated_csv
from inference.core.events import Log
from inference.core.explain import Characterisation, NotCharacterised, SchemeFate, Witness, WitnessOutcome
from inference.core.explain.events import funnel_of
from inference.core.explain.surplus import flood_of
from inference.core.latency import LatencyProblem, infer_latencies
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import uops_of
from inference.core.resources import from_port_mapping
from inference.features.asking.predictors.query import row_for
from inference.features.learning.core_model.storing import store_parts
from inference.formats.block_sets import BlockSetOptions
from inference.isa.blocks import object_file
from inference.isa.targets import X86
from inference.isa.x86.chains import links_of, pair_chains
from inference.isa.x86.front_end import front_end_codes
from inference.measuring.simulated_chains import SimulatedLatencies, sampled_latencies
from inference.measuring.simulated_front_end import SimulatedFrontEnd
from inference.models import (
    ISA,
    BasicBlockSet,
    Evaluation,
    ExperimentSet,
    LatencySet,
    Machine,
    MachineReading,
    MeasuredFrontEnd,
    PortMapping,
    Predictor,
    ResourceMapping,
    Run,
    RunEvent,
    Upload,
)
from inference.storage.block_sets import store as store_blocks
from inference.storage.characterisations import KEY, store_characterisations
from inference.storage.core_models import store_front_end
from inference.storage.evaluations import evaluate
from inference.storage.exporting import CORE_MODEL_EXPORTS
from inference.storage.instruction_sets import load_supplied
from inference.storage.latencies import store_latencies
from inference.storage.mappings import store_mapping, store_resource_mapping
from inference.storage.rows import scheme_texts
from inference.storage.run_archive_writing import write_archive
from pmweb.accounts.people import ensure_administrator

_REPORT = {
    "classes": [],
    "r_max": 6.0,
    "noise": 0.001,
    "counts_from": "none",
    "warnings": [],
    "verdict": "the only mapping that explains the measurements",
    "alternatives": 0,
    "experiments": 10_000,
    "measurements": 110_000,
    "per_scheme": 13.3,
    "seconds": 3600.0,
    "epsilon": 0.02,
    "evidence": "cycles",
}


def explained_mapping(isa: ISA, truth: Mapping) -> PortMapping:
    """The same mapping with a verdict on every scheme, each with four witnesses; a tenth is left out."""
    texts = list(truth.usage)
    verdicts = []
    for number, text in enumerate(texts):
        witnesses = tuple(_witness(text, texts[k], 1 << k) for k in range(4))
        verdict = {"usage": truth.usage[text], "cycles": 0.5, "counted": 1.0}
        reason = {"reason": NotCharacterised.NOT_INTEGER, "text": "1.48 µops"}
        is_characterised = number % 10 > 0
        outcome = SchemeFate.CHARACTERISED if is_characterised else SchemeFate.EXCLUDED
        facts: dict[str, Any] = verdict if is_characterised else reason
        verdicts.append(Characterisation(text, outcome, "remaining", witnesses=witnesses, **facts))
    usage = {
        verdict.scheme: verdict.usage for verdict in verdicts if verdict.outcome is SchemeFate.CHARACTERISED
    }
    report = {**_REPORT, "funnel": funnel_of(verdicts)}
    row = store_mapping(
        "explained",
        isa,
        Mapping(truth.ports, usage, r_max=6.0),
        origin=PortMapping.Origin.IMPORT,
        source="generated",
        report={KEY: report},
    )
    store_characterisations(row, verdicts)
    return row


def _witness(scheme: str, blocker: str, mask: int) -> Witness:
    """Evidence that one µop of a scheme uses a port set: its flood takes 11 cycles in place of 10."""
    return Witness(
        blocker=blocker,
        mask=mask,
        copies=10,
        base=flood_of(blocker, 10),
        base_cycles=10.0,
        tested=flood_of(blocker, 10, scheme),
        cycles=11.0,
        samples=3,
        surplus=1.0,
        below=0,
        uops=1,
        tolerance=0.3,
        seen=WitnessOutcome.USES,
    )


PORTS = 10
_INFERENCE = {"algorithm": "pmevo", "ports": 4, "settings": {"population": 20, "max_generations": 3}}
DECISIONS = 2000
"""Of the largest tree of a discovery."""


@dataclass(frozen=True)
class Scale:
    """Numbers of rows of the site; the usual ones are those of a site after years of use."""

    measurements: int = 1_000_000
    schemes: int = 2000
    mappings: int = 50
    runs: int = 300
    discoveries: int = 200
    blocks: int = 20_000
    rows_uploaded: int = 2000

    @classmethod
    def quick(cls) -> Scale:
        return cls(100_000, 400, 10, 50, 20, 2000, 500)


class World(SimpleNamespace):
    """What pages are opened of: rows and numbers by the names that `generated_site` gives them."""


def generated_site(scale: Scale) -> World:
    """Fill the database, which is empty."""
    dice = np.random.default_rng(1)
    isa = load_supplied(X86)[0]
    texts = scheme_texts(isa)
    chosen = sorted(dice.choice(sorted(texts), size=min(scale.schemes, len(texts)), replace=False).tolist())
    truth = _mapping({pk: texts[pk] for pk in chosen}, dice)
    sets = generated_sets(scale.measurements, isa, texts, truth, dice)
    rows = _mappings(scale, isa, truth, dice, sets)
    converted = from_port_mapping(_few(truth))
    machine = _machine(isa)
    latencies = _latencies(machine, texts, "generated", seed=0)
    front_end = _front_end(machine)
    core_model = store_parts("generated", rows[0], latencies, front_end)
    importing = _runs(scale, rows[0], sets[0])
    campaign = generated_campaign(scale.discoveries)
    blocks = _blocks(scale)
    predictor = row_for("mapping", {"mapping": rows[0].name})
    evaluation = Evaluation.objects.filter(mapping=rows[0], experiment_set=sets[0]).get()
    counts = np.array(evaluation.heat_map["counts"])
    fullest = np.unravel_index(int(counts.argmax()), counts.shape)
    return World(
        administrator=ensure_administrator(),
        isa=isa,
        scheme=chosen[0],
        experiment=sets[0].measurements.order_by("id")[scale.schemes].experiment_id,
        large=sets[0],
        again=sets[1],
        small=sets[2],
        mapping=rows[0],
        other=rows[1],
        explained=explained_mapping(isa, truth),
        resources=store_resource_mapping("converted", isa, converted, origin=ResourceMapping.Origin.IMPORT),
        latencies=latencies,
        other_latencies=_latencies(machine, texts, "generated again", seed=1),
        front_end=front_end,
        core_model=core_model,
        core_file=_upload("core.json", CORE_MODEL_EXPORTS["json"].write(core_model).encode()),
        machine=machine,
        inference=done("infer", {**_INFERENCE, "source": {"datasets": [sets[2].pk]}}),
        importing=importing,
        upload=_upload("pairs.csv", _csv(scale.rows_uploaded, texts, chosen)),
        archive=_upload("run.zip", write_archive(importing)),
        anica=_upload("blocks.csv", b"bb,one\n4801d8,1.0\n480fafc3,1.0\n"),
        program=_upload("work.o", object_file(bytes.fromhex("4801d8ffc975f9c3"), "work")),
        campaign=campaign,
        discovery=campaign.discoveries.order_by("-generalisations__steps_count", "number")[0],
        family=campaign.families.order_by("number")[0],
        deep=_deepened(campaign, DECISIONS),
        other_campaign=generated_campaign(5, 10, "another"),
        block_set=blocks,
        question=done("ask", {"predictors": [predictor.pk], "blocks": ["4801d8480fafc3"]}),
        comparison=done(
            "comparison", {"experiment_set": sets[2].pk, "mappings": [row.pk for row in rows[:3]]}
        ),
        bin=(int(fullest[0]), int(fullest[1])),
    )


def _deepened(campaign: Campaign, steps: int) -> Discovery:
    """The campaign's last discovery, its tree continued up to so many decisions, half of them rejected."""
    discovery = campaign.discoveries.order_by("-number")[0]
    row = discovery.generalisations.get(became=Generalisation.Became.DISCOVERY)
    known = list(row.steps.order_by("number"))
    dice = random.Random(steps)
    more = []
    for number in range(len(known), steps + 1):
        pair = [f"{dice.randint(1, 9)}.register.{dice.randint(1, 3)}", f"{dice.randint(1, 9)}.memory.1"]
        step = copy.copy(dice.choice(known))
        step.pk, step.number, step.taken = None, number, dice.random() < 0.5
        step.expansion = {"aliasing": pair}
        more.append(step)
    GeneralisationStep.objects.bulk_create(more, batch_size=200)
    Generalisation.objects.filter(pk=row.pk).update(steps_count=steps)
    return discovery


def _mapping(texts: dict[int, str], dice: np.random.Generator) -> Mapping:
    """A mapping of these schemes, drawn from a few dozen kinds of µops, as real ones have."""
    kinds = [int(mask) for mask in dice.integers(1, 1 << PORTS, size=24)]
    usage = {}
    for text in texts.values():
        picks = dice.choice(len(kinds), size=dice.integers(1, 4))
        usage[text] = uops_of([(kinds[pick], 1) for pick in picks])
    return Mapping(tuple(str(port) for port in range(PORTS)), usage, r_max=6.0)


def _few(mapping: Mapping) -> Mapping:
    """Its schemes of one µop: a conversion to resources stays small."""
    usage = {text: uops for text, uops in mapping.usage.items() if len(uops) == 1}
    kinds = sorted({uops[0][0] for uops in usage.values()})[:6]
    return Mapping(mapping.ports, {text: uops for text, uops in usage.items() if uops[0][0] in kinds})


def _mappings(
    scale: Scale, isa: ISA, truth: Mapping, dice: np.random.Generator, sets: list[ExperimentSet]
) -> list[PortMapping]:
    """Each a tenth different from the first; the first two are evaluated, the others have copies of that."""
    texts = list(truth.usage)
    rows = []
    for number in range(scale.mappings - 1):
        changed = dice.choice(len(texts), size=len(texts) // 10, replace=False) if number else ()
        usage = dict(truth.usage)
        for place in changed:
            usage[texts[place]] = usage[texts[(int(place) + 1) % len(texts)]]
        value = Mapping(truth.ports, usage, r_max=6.0)
        name = f"mapping {number + 1}"
        rows.append(store_mapping(name, isa, value, origin=PortMapping.Origin.IMPORT, source="generated"))
    first = [evaluate(rows[0], sets[0]), evaluate(rows[0], sets[2])]
    copies = [
        Evaluation(
            mapping=row,
            experiment_set=evaluation.experiment_set,
            unit=evaluation.unit,
            n=evaluation.n,
            mape=(evaluation.mape or 0) * dice.uniform(1, 2),
            pearson=evaluation.pearson,
            kendall=evaluation.kendall,
            heat_map=evaluation.heat_map,
        )
        for row in rows[1:]
        for evaluation in first
    ]
    Evaluation.objects.bulk_create(copies, batch_size=5)
    return rows


def _machine(isa: ISA) -> Machine:
    """An online computer with a month of readings."""
    now = timezone.now()
    facts = {"cpu": "generated", "cores": 16, "core": 15, "flags": ["avx2"], "counters": "none", "unfit": ""}
    row = Machine.objects.create(
        name="lab",
        kind="agent",
        isa=isa,
        cpu="generated",
        facts=facts,
        state="idle",
        last_seen=now,
        session=1,
    )
    MachineReading.objects.bulk_create(
        [
            MachineReading(
                machine=row, at=now - timedelta(minutes=minute), state="idle", noise=0.004, ghz=3.1, rate=80
            )
            for minute in range(43_200, 0, -10)
        ]
    )
    return row


def _runs(scale: Scale, mapping: PortMapping, experiment_set: ExperimentSet) -> Run:
    """Many that have ended, of several kinds, one of them with a journal of 500 lines, which is returned."""
    now = timezone.now()
    kinds = ("evaluate", "import", "merge-sets")
    config = {"mapping": mapping.pk, "experiment_set": experiment_set.pk, "unit": "cycles"}
    results = {"import": {"experiment_set": experiment_set.pk}, "evaluate": {"mapping": mapping.pk}}
    Run.objects.bulk_create(
        [
            Run(
                name=f"run {number}",
                kind=kinds[number % 3],
                state="done",
                config=config if kinds[number % 3] == "evaluate" else {},
                result=results.get(kinds[number % 3], {}),
                started=now,
                finished=now,
            )
            for number in range(scale.runs)
        ]
    )
    run = Run.objects.get(name="run 1")
    lines = [
        RunEvent(run=run, seq=seq, kind=Log.kind, payload={"level": "info", "text": f"line {seq}"})
        for seq in range(1, 501)
    ]
    RunEvent.objects.bulk_create(lines)
    Run.objects.filter(pk=run.pk).update(next_seq=501)
    run.refresh_from_db()
    return run


def _front_end(machine: Machine) -> MeasuredFrontEnd:
    codes = front_end_codes(offsets=True)
    readings = SimulatedFrontEnd().time([code.code for code in codes])
    return store_front_end("generated", machine, list(zip(codes, readings, strict=True)), {})


def _latencies(machine: Machine, texts: dict[int, str], name: str, *, seed: int) -> LatencySet:
    """Of all schemes that chains can be made of, simulated."""
    pairs = [pair_chains(link) for pk in sorted(texts) for link in links_of(texts[pk])]
    found = infer_latencies(LatencyProblem(pairs, []), SimulatedLatencies(sampled_latencies(seed)))
    return store_latencies(name, machine, found, {})


def _csv(rows: int, texts: dict[int, str], chosen: list[int]) -> bytes:
    dice = random.Random(1)
    lines = [
        f'"{texts[dice.choice(chosen)]}; 2*{texts[dice.choice(chosen)]}",{dice.randint(25, 900) / 100}'
        for _ in range(rows)
    ]
    return ("experiment,cycles\n" + "\n".join(lines) + "\n").encode()


def _upload(name: str, content: bytes) -> Upload:
    made = Upload.objects.create(file_name=name, beginning=content, sha256=name.rjust(64, "0"))
    read_uploads()
    made.refresh_from_db()
    return made


def _blocks(scale: Scale) -> BasicBlockSet:
    """A set of blocks in three columns."""
    made = store_blocks(io.BytesIO(generated_csv(scale.blocks)), "blocks.csv", "blocks", BlockSetOptions())[0]
    columns = list(made.columns.order_by("position"))
    for at, column in enumerate(columns):
        column.predictor = Predictor.objects.create(name=f"tool {at}", kind="toy", key=str(at) * 64)
        column.save()
    return made

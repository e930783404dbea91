"""A site after years of use, made in a minute: a million measurements, 2,000 schemes, 50 port mappings.

Rows are inserted in bulk, past the importers. What only a run can make is made by runs on small inputs, or
once and then copied; runs that measure are rows without their journal's pictures.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from anica_app.campaigning.predictors import row_for
from anica_app.exchange.block_sets import Reading
from anica_app.exchange.block_sets import store as store_blocks
from anica_app.models import BasicBlockSet, Campaign, Predictor
from benchmarks._generated_campaign import Size, generated_campaign
from inference.core.explain import Characterisation, Outcome, Reason, Seen, Witness
from inference.core.explain.surplus import flooded
from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import uops_of
from inference.core.predicting import MappingPredictor
from inference.core.resources.conversion import from_port_mapping
from inference.exchange.characterisations import KEY, funnel_of, store_characterisations
from inference.exchange.evaluating import evaluate
from inference.exchange.instruction_sets import load_x86
from inference.exchange.resource_mappings import store_resource_mapping
from inference.exchange.run_archive.writing import write_archive
from inference.exchange.set_comparing import keep_comparison
from inference.exchange.set_summary import keep_summary
from inference.exchange.stored import scheme_texts, store_mapping
from inference.exchange.streaming import table_of_keys
from inference.models import (
    ISA,
    Evaluation,
    ExperimentSet,
    Machine,
    MachineReading,
    PortMapping,
    ResourceMapping,
    Run,
    RunEvent,
    Upload,
)
from inference.runs import leases, lifecycle
from inference.runs.execute import Wishes, execute

PORTS = 10
_ROWS = 20_000  # per executemany
_TOOLS = ("llvm-mca", "OSACA")
_LENGTHS = (2, 3, 4, 5)


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    measurements: int = 1_000_000
    schemes: int = 2000
    mappings: int = 50
    runs: int = 300
    discoveries: int = 200
    blocks: int = 20_000
    rows_uploaded: int = 2000

    @classmethod
    def quick(cls) -> Scale:
        """A tenth of it."""
        return cls(100_000, 400, 10, 50, 20, 2000, 500)


@dataclass(frozen=True)
class World:
    """What pages are opened of."""

    isa: ISA
    scheme: int
    experiment: int
    large: ExperimentSet
    again: ExperimentSet
    small: ExperimentSet
    mapping: PortMapping
    other: PortMapping
    explained: PortMapping
    resources: ResourceMapping
    machine: Machine
    inference: Run
    importing: Run
    upload: Upload
    archive: Upload
    anica: Upload
    campaign: Campaign
    other_campaign: Campaign
    block_set: BasicBlockSet
    question: Run
    comparison: Run
    matrix: Run
    bin: tuple[int, int]


def generated_site(scale: Scale) -> World:
    """Fill the database, which is empty."""
    dice = np.random.default_rng(1)
    isa = load_x86()[0]
    texts = scheme_texts(isa)
    chosen = sorted(dice.choice(sorted(texts), size=min(scale.schemes, len(texts)), replace=False).tolist())
    truth = _mapping({pk: texts[pk] for pk in chosen}, dice)
    sets = _measured(scale, isa, chosen, texts, truth, dice)
    rows = _mappings(scale, isa, truth, dice, sets)
    explained = _explained(isa, truth)
    resources = store_resource_mapping(
        "converted", isa, from_port_mapping(_few(truth)), origin=ResourceMapping.Origin.IMPORT
    )
    machine = _machine(isa)
    importing = _runs(scale, rows[0], sets[0])
    campaigns = [
        generated_campaign(Size(discoveries=scale.discoveries), "generated"),
        generated_campaign(Size(discoveries=5, decisions=10), "another"),
    ]
    blocks, matrix = _blocks(scale)
    predictor = row_for("mapping", {"mapping": rows[0].name})
    evaluation = Evaluation.objects.filter(mapping=rows[0], experiment_set=sets[0]).get()
    counts = np.array(evaluation.heat_map["counts"])
    fullest = np.unravel_index(int(counts.argmax()), counts.shape)
    return World(
        isa=isa,
        scheme=chosen[0],
        experiment=sets[0].measurements.order_by("id")[scale.schemes].experiment_id,
        large=sets[0],
        again=sets[1],
        small=sets[2],
        mapping=rows[0],
        other=rows[1],
        explained=explained,
        resources=resources,
        machine=machine,
        inference=done(
            "infer",
            {
                "algorithm": "pmevo",
                "source": {"datasets": [sets[2].pk]},
                "ports": 4,
                "settings": {"population": 20, "max_generations": 3},
            },
        ),
        importing=importing,
        upload=_upload("pairs.csv", _csv(scale.rows_uploaded, texts, chosen)),
        archive=_upload("run.zip", write_archive(importing)),
        anica=_upload("blocks.csv", b"bb,one\n4801d8,1.0\n480fafc3,1.0\n"),
        campaign=campaigns[0],
        other_campaign=campaigns[1],
        block_set=blocks,
        question=done("ask", {"predictors": [predictor.pk], "blocks": ["4801d8480fafc3"]}),
        comparison=done(
            "comparison", {"experiment_set": sets[2].pk, "mappings": [each.pk for each in rows[:3]]}
        ),
        matrix=matrix,
        bin=(int(fullest[0]), int(fullest[1])),
    )


def done(kind: str, config: dict[str, Any]) -> Run:
    """A run, done in this process as a worker does it."""
    made = lifecycle.submit(kind, config, lifecycle.unused_name(f"{kind} of the benchmark"))
    lease = leases.claim("benchmark", only=made.pk)
    assert lease is not None, "nobody else works here"
    execute(lease, Wishes(lease))
    made.refresh_from_db()
    if made.state != Run.State.DONE:
        raise RuntimeError(f"the run of kind {kind} ended as {made.state}: {made.error}")
    return made


# ---- measurements


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


def _measured(
    scale: Scale,
    isa: ISA,
    chosen: list[int],
    texts: dict[int, str],
    truth: Mapping,
    dice: np.random.Generator,
) -> list[ExperimentSet]:
    """A large set, its first tenth measured again, and a small one of single schemes."""
    n = round(scale.measurements / 1.1)
    keys = _keys(n, chosen, dice)
    lengths = np.array([sum(int(term.split(":")[1]) for term in key.split(",")) for key in keys])
    columns = ("id", "isa_id", "key", "length")
    with transaction.atomic():
        rows = zip(range(1, n + 1), [isa.pk] * n, keys, lengths.tolist(), strict=True)
        _insert("inference_experiment", columns, rows)
        _insert("inference_experimentterm", ("experiment_id", "scheme_id", "count"), _terms(keys))
        predicted = np.concatenate(
            [
                MappingPredictor(truth).cycles(table_of_keys(keys[start : start + 100_000], texts))
                for start in range(0, n, 100_000)
            ]
        )
        cycles = np.round(np.maximum(predicted, 0.1) * dice.normal(1.0, 0.05, n).clip(0.5), 3)
        sets = [
            ExperimentSet.objects.create(name=name, isa=isa, origin="upload", source="generated")
            for name in ("large", "large, again", "singles")
        ]
        tenth = n // 10
        again = np.round(cycles[:tenth] * dice.normal(1.0, 0.02, tenth).clip(0.5), 3)
        _measurements(sets[0], lengths, cycles, annotated=True)
        _measurements(sets[1], lengths[:tenth], again)
        _measurements(sets[2], lengths[: scale.schemes], cycles[: scale.schemes])
    for each in sets:
        keep_summary(each)
    keep_comparison(sets[0], sets[1])
    return sets


def _keys(n: int, chosen: list[int], dice: np.random.Generator) -> list[str]:
    """Every scheme alone first, then mixes of two to five."""
    found = dict.fromkeys(f"{pk}:1" for pk in chosen)
    schemes = np.array(chosen)
    while len(found) < n:
        size = int(dice.choice(_LENGTHS))
        draws = np.sort(schemes[dice.integers(0, len(schemes), size=(50_000, size))], axis=1)
        for mix in draws.tolist():
            found[",".join(f"{pk}:{mix.count(pk)}" for pk in dict.fromkeys(mix))] = None
    return list(islice(found, n))


def _terms(keys: list[str]) -> Iterator[tuple[int, int, int]]:
    for row, key in enumerate(keys, start=1):
        for term in key.split(","):
            scheme, _, count = term.partition(":")
            yield row, int(scheme), int(count)


def _measurements(row: ExperimentSet, lengths: Any, cycles: Any, *, annotated: bool = False) -> None:
    """Of the first experiments, as many as there are numbers."""
    columns = (
        "experiment_set_id",
        "experiment_id",
        "length",
        "repeat",
        "state",
        "cycles",
        "spread",
        "passes",
        "note",
    )
    said = (_said(value) if annotated else "{}" for value in cycles.tolist())
    _insert(
        "inference_measurement",
        (*columns, "annotations", "counters"),
        (
            (row.pk, number, length, 0, "settled", value, None, 1, "", text, "{}")
            for number, (length, value, text) in enumerate(
                zip(lengths.tolist(), cycles.tolist(), said, strict=True), start=1
            )
        ),
    )


def _said(cycles: float) -> str:
    return json.dumps({tool: round(cycles * (1.1 + k), 2) for k, tool in enumerate(_TOOLS)})


def _insert(table: str, columns: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> None:
    marks = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    with connection.cursor() as cursor:
        while part := list(islice(rows, _ROWS)):
            cursor.executemany(statement, part)


# ---- mappings and what is said of them


def _mappings(
    scale: Scale, isa: ISA, truth: Mapping, dice: np.random.Generator, sets: list[ExperimentSet]
) -> list[PortMapping]:
    """Each a tenth different from the first; the first two are evaluated, the others have copies of that."""
    texts = list(truth.usage)
    made = []
    for number in range(scale.mappings - 1):
        changed = dice.choice(len(texts), size=len(texts) // 10, replace=False) if number else ()
        usage = dict(truth.usage)
        for place in changed:
            usage[texts[place]] = usage[texts[(int(place) + 1) % len(texts)]]
        value = Mapping(truth.ports, usage, r_max=6.0)
        name = f"mapping {number + 1}"
        made.append(store_mapping(name, isa, value, origin=PortMapping.Origin.IMPORT, source="generated"))
    first = [evaluate(made[0], sets[0]), evaluate(made[0], sets[2])]
    copies = [
        Evaluation(
            mapping=row,
            experiment_set=each.experiment_set,
            unit=each.unit,
            n=each.n,
            mape=(each.mape or 0) * dice.uniform(1, 2),
            pearson=each.pearson,
            kendall=each.kendall,
            heat_map=each.heat_map,
        )
        for row in made[1:]
        for each in first
    ]
    Evaluation.objects.bulk_create(copies, batch_size=5)
    return made


def _explained(isa: ISA, truth: Mapping) -> PortMapping:
    """The same mapping with a verdict on every scheme, each with four witnesses; a tenth is left out."""
    texts = list(truth.usage)
    verdicts = []
    for number, text in enumerate(texts):
        witnesses = tuple(_witness(text, texts[k], 1 << k) for k in range(4))
        if number % 10:
            verdicts.append(
                Characterisation(
                    text,
                    Outcome.CHARACTERISED,
                    "remaining",
                    usage=truth.usage[text],
                    witnesses=witnesses,
                    cycles=0.5,
                    counted=1.0,
                )
            )
        else:
            verdicts.append(
                Characterisation(
                    text, Outcome.EXCLUDED, "remaining", Reason.NOT_WHOLE, "1.48 µops", witnesses=witnesses
                )
            )
    usage = {
        each.scheme: truth.usage[each.scheme] for each in verdicts if each.outcome is Outcome.CHARACTERISED
    }
    report = {
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
        "funnel": funnel_of(verdicts),
        "epsilon": 0.02,
        "evidence": "cycles",
    }
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
    return Witness(
        blocker=blocker,
        mask=mask,
        copies=10,
        base=flooded(blocker, 10),
        base_cycles=10.0,
        tested=flooded(blocker, 10, scheme),
        cycles=11.0,
        samples=3,
        surplus=1.0,
        below=0,
        uops=1,
        tolerance=0.3,
        seen=Seen.USES,
    )


# ---- machines, runs, files, blocks


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
    told = Run.objects.get(name="run 1")
    lines = [
        RunEvent(run=told, seq=seq, kind="log", payload={"level": "info", "text": f"line {seq}"})
        for seq in range(1, 501)
    ]
    RunEvent.objects.bulk_create(lines)
    Run.objects.filter(pk=told.pk).update(next_seq=501)
    told.refresh_from_db()
    return told


def _csv(rows: int, texts: dict[int, str], chosen: list[int]) -> bytes:
    dice = random.Random(1)
    lines = [
        f'"{texts[dice.choice(chosen)]}; 2*{texts[dice.choice(chosen)]}",{dice.randint(25, 900) / 100}'
        for _ in range(rows)
    ]
    return ("experiment,cycles\n" + "\n".join(lines) + "\n").encode()


def _upload(name: str, content: bytes) -> Upload:
    return Upload.objects.create(file_name=name, content=content, sha256=name.rjust(64, "0"))


def _blocks(scale: Scale) -> tuple[BasicBlockSet, Run]:
    """A set of blocks in three columns, and a matrix of those."""
    dice = random.Random(1)
    code = ("4801d8", "480fafc3", "480fbcc3", "4829d8", "4831c0", "4885c0")
    out = io.StringIO()
    out.write("bb,one,two,three\n")
    for _ in range(scale.blocks):
        cycles = dice.randint(25, 3000) / 100
        block = "".join(dice.choice(code) for _ in range(dice.randint(1, 8)))
        out.write(f"{block},{cycles},{round(cycles * 1.1, 2)},{round(cycles * dice.uniform(0.5, 2), 2)}\n")
    made = store_blocks(io.BytesIO(out.getvalue().encode()), "blocks.csv", "blocks", Reading())[0]
    columns = list(made.columns.order_by("position"))
    for at, column in enumerate(columns):
        column.predictor = Predictor.objects.create(name=f"tool {at}", kind="toy", key=str(at) * 64)
        column.save()
    size = made.size
    result = {
        "block_set": made.pk,
        "name": "three tools",
        "blocks": size,
        "columns": [{"id": one.pk, "name": one.name, "predictor": one.predictor_id} for one in columns],
        "both": [[size] * 3] * 3,
        "differing": [[0, size // 9, size // 2], [size // 9, 0, size // 2], [size // 2, size // 2, 0]],
    }
    config = {"interest": {"metric": "relative", "threshold": 0.5}}
    matrix = Run.objects.create(name="a matrix", kind="matrix", state="done", config=config, result=result)
    return made, matrix

"""Sets of measurements as large as wanted, written to the database without an object per row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connections, transaction

from benchmarks._in_process_worker import done
from inference.core.evaluator import PortMappingModel
from inference.core.mapping import PortMapping, uops_of
from inference.isa.scheme import Scheme
from inference.models import ISA, ExperimentSet, Measurement
from inference.storage.instruction_sets import store_isa
from inference.storage.rows import scheme_texts, store_summary
from inference.storage.streaming import table_of_keys

Floats = npt.NDArray[np.float64]

_ROWS = 20_000
"""Rows that are in memory at a time, for one `executemany`."""

_PREDICTED = 100_000
"""Experiments that are predicted at a time."""


def insert(table: str, columns: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
    """Insert `rows`, each with a value per column."""
    marks = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    with connections["default"].cursor() as cursor:
        while part := list(islice(rows, _ROWS)):
            cursor.executemany(statement, part)


def drawn_keys(
    n: int,
    schemes: Sequence[int],
    lengths: Sequence[int],
    dice: np.random.Generator,
    first: Iterable[str] = (),
) -> list[str]:
    """Keys of different experiments, sorted by scheme within each key.

    Args:
        n: Keys in all.
        schemes: Ids of the schemes to draw from.
        lengths: Instructions per experiment; batches of each length are drawn in turn.
        dice: Where the draws come from.
        first: Keys that the result begins with.
    """
    keys = dict.fromkeys(first)
    sizes = cycle(
        lengths
    )  # a batch is at most its share of n, so that every length occurs in a small set too
    while len(keys) < n:
        draws = dice.choice(schemes, size=(min(50_000, n // len(lengths)), next(sizes)))
        for mix in np.sort(draws, axis=1).tolist():
            keys[",".join(f"{pk}:{mix.count(pk)}" for pk in dict.fromkeys(mix))] = None
    return list(islice(keys, n))


def predicted_cycles(mapping: PortMapping, keys: Sequence[str], texts: Mapping[int, str]) -> Floats:
    """What a mapping predicts of experiments; `texts`: {id of a scheme: what it is called}."""
    model = PortMappingModel(mapping)
    parts = (keys[start : start + _PREDICTED] for start in range(0, len(keys), _PREDICTED))
    return np.concatenate([model.cycles(table_of_keys(part, texts)) for part in parts])


def insert_experiments(isa: int, keys: Sequence[str], lengths: Sequence[int], *, terms: bool = True) -> None:
    """Insert experiments with the ids from 1 on into a database that has none.

    Args:
        isa: Id of the instruction set.
        keys: Keys of the experiments.
        lengths: Their numbers of instructions.
        terms: Whether to insert a row per scheme of each too; only searches by scheme look at these.
    """
    n = len(keys)
    rows = zip(range(1, n + 1), [isa] * n, keys, lengths, strict=True)
    insert("inference_experiment", ("id", "isa_id", "key", "length"), rows)
    if terms:
        insert("inference_experimentterm", ("experiment_id", "scheme_id", "count"), _terms(keys))


def insert_measurements(
    experiment_set: int, lengths: Sequence[int], cycles: Sequence[float], answers: Iterable[str]
) -> None:
    """Insert a measurement of each of the first experiments, as many as there are `cycles`.

    Args:
        experiment_set: Id of the set that they belong to.
        lengths: Instructions of each experiment.
        cycles: Measured cycles of each.
        answers: Per experiment what the tools predict, a JSON object {tool: cycles}.
    """
    rows = zip(lengths, cycles, answers, strict=True)
    insert(
        "inference_measurement",
        [str(field.column) for field in Measurement._meta.concrete_fields if not field.primary_key],
        (
            (experiment_set, number, length, 0, "settled", measured, None, 1, "", predictions, "{}")
            for number, (length, measured, predictions) in enumerate(rows, start=1)
        ),
    )


def _terms(keys: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Id of the experiment, id of the scheme and count of each term of the keys."""
    for row, key in enumerate(keys, start=1):
        for term in key.split(","):
            scheme, _, count = term.partition(":")
            yield row, int(scheme), int(count)


PORTS = 10
"""Of the generated mapping, about as many as recent processors have."""

SEED = 1
"""Of the mapping and of the set, so that two runs measure the same work."""

SCHEMES = tuple(f"op{number:03} R, R" for number in range(100))
"""What the generated set consists of: they need names only, since nothing is assembled."""

_LENGTH = 5
"""Instructions of each experiment."""


def generated_mapping(seed: int = SEED) -> PortMapping:
    """A port mapping of `SCHEMES`, one to three µops each."""
    rng = np.random.default_rng(seed)
    usage = {}
    for scheme in SCHEMES:
        kinds = int(rng.integers(1, 4))
        masks, counts = rng.integers(1, 1 << PORTS, kinds), rng.integers(1, 3, kinds)
        usage[scheme] = uops_of(zip(masks.tolist(), counts.tolist(), strict=True))
    return PortMapping(tuple(str(port) for port in range(PORTS)), usage)


@transaction.atomic
def generate_set(n: int) -> ExperimentSet:
    """A set of `n` five-scheme mixes that scatter around what the generated mapping predicts.

    Two tools come with it, of which one answers every time and one for every fourth mix. Their terms, which
    only searches by scheme look at, are left out.
    """
    schemes = [Scheme(text, text[:5], (), "BASE", "arithmetic", "", "", 64, "", False) for text in SCHEMES]
    isa: ISA = store_isa("generated", schemes, "generated")
    row = ExperimentSet.objects.create(name="generated", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    rng = np.random.default_rng(SEED)
    texts = scheme_texts(isa)
    keys = drawn_keys(n, sorted(texts), (_LENGTH,), rng)
    insert_experiments(isa.pk, keys, [_LENGTH] * n, terms=False)
    predicted = predicted_cycles(generated_mapping(), keys, texts)
    # 2 % too slow on average with 8 % of noise, and two decimals, as measurements are.
    measured = np.maximum(np.round(predicted * rng.normal(1.02, 0.08, n), 2), 0.25)
    tool_cycles = np.round(measured * rng.normal(1.0, 0.3, n).clip(0.1), 2)
    pairs = enumerate(zip(measured.tolist(), tool_cycles.tolist(), strict=True))
    answers = (_answers(k, *pair) for k, pair in pairs)
    insert_measurements(row.pk, [_LENGTH] * n, measured.tolist(), answers)
    return row


def _answers(k: int, measured: float, predicted: float) -> str:
    """What the two tools predict of the k-th mix, as JSON; formatted by hand, faster than by `dumps`."""
    rarely = f', "Seldom": {measured * 1.5:.2f}' if k % 4 == 0 else ""
    return f'{{"Always": {predicted}{rarely}}}'


_TOOLS = ("llvm-mca", "OSACA")
"""Whose predictions come with the large set."""

_LENGTHS = (2, 3, 4, 5)
"""Instructions of its mixes."""


def generated_sets(
    measurements: int, isa: ISA, texts: dict[int, str], truth: PortMapping, dice: np.random.Generator
) -> list[ExperimentSet]:
    """A large set, its first tenth measured again, and a small one with each scheme of `truth` alone.

    Args:
        measurements: Of the first two sets together.
        isa: The instruction set of all three.
        texts: {id of a scheme: its text}.
        truth: The mapping that the measurements scatter around.
        dice: Where mixes and noise come from.
    """
    n = round(measurements / 1.1)  # the second set has a tenth of the first
    chosen = sorted(pk for pk, text in texts.items() if text in truth.usage)
    keys = drawn_keys(n, chosen, _LENGTHS, dice, (f"{pk}:1" for pk in chosen))
    lengths = np.array([sum(int(term.split(":")[1]) for term in key.split(",")) for key in keys])
    with transaction.atomic():
        insert_experiments(isa.pk, keys, lengths.tolist())
        predicted = predicted_cycles(truth, keys, texts)
        cycles = np.round(np.maximum(predicted, 0.1) * dice.normal(1.0, 0.05, n).clip(0.5), 3)
        sets = [
            ExperimentSet.objects.create(name=name, isa=isa, origin="upload", source="generated")
            for name in ("large", "large, again", "singles")
        ]
        tenth = n // 10
        again = np.round(cycles[:tenth] * dice.normal(1.0, 0.02, tenth).clip(0.5), 3)
        _measurements(sets[0], lengths, cycles, annotated=True)
        _measurements(sets[1], lengths[:tenth], again)
        _measurements(sets[2], lengths[: len(chosen)], cycles[: len(chosen)])
    for experiment_set in sets:
        store_summary(experiment_set)
    done("compare-sets", {"first": sets[0].pk, "second": sets[1].pk})
    return sets


def _measurements(row: ExperimentSet, lengths: Any, cycles: Any, *, annotated: bool = False) -> None:
    """Store the cycles of the first experiments in a set; `annotated` with predictions of `_TOOLS`."""
    predictions = (_predictions(value) if annotated else "{}" for value in cycles.tolist())
    insert_measurements(row.pk, lengths.tolist(), cycles.tolist(), predictions)


def _predictions(cycles: float) -> str:
    """What `_TOOLS` predict where the processor takes so many cycles: 10 % more, and 110 % more."""
    return json.dumps({tool: round(cycles * (1.1 + k), 2) for k, tool in enumerate(_TOOLS)})

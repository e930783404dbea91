"""The results and descriptions of accuracy checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inference.core.judging.accuracy import floor_of, verdict
from inference.core.judging.agreement import agreement, errors_by_group
from inference.core.judging.residual_traits import memory_traits, significant_traits, traits_of_table
from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.judging.engine.sources import ComparisonColumn
from inference.features.running.runs.kind_presentation import DescriptionItem, links
from inference.figures.heatmap import heat_map
from inference.models import BasicBlockSet, Machine, Predictor, Run
from inference.storage.names import file_name


def check_of(run: Run) -> Json | None:
    """The result of a run, with the fields that earlier versions did not store; None before it is done."""
    return {"rounds": 1, "floor": None, **run.result["check"]} if run.result else None


def check_description(run: Run) -> Iterator[DescriptionItem]:
    """The description of a run of kind `accuracy-check`, item by item."""
    config = run.config
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config["machine"]]))
    if config.get("upload"):
        yield DescriptionItem("Loops of", file_name(config["upload"]) or "a file that has been deleted")
    else:
        yield DescriptionItem(
            "Basic-block set", links=links(BasicBlockSet, "block-set", [config["block_set"]])
        )
    yield DescriptionItem("Blocks", f"{config['blocks']:,} at most, seed {config['seed']}, {config['mode']}")
    names = (
        Predictor.objects.filter(pk__in=config["predictors"]).order_by("pk").values_list("name", flat=True)
    )
    yield DescriptionItem("Predictors", ", ".join(names) or "all that fit the machine")


MAX_WORST = 50
"""Blocks listed for each predictor."""
FACTS = ("machine", "source", "mode", "rounds", "blocks", "measured")
"""Fields of a check about the measurement."""


def check_of_sheet(
    sheet: AnswerSheet, columns: Sequence[ComparisonColumn], codes: Sequence[bytes], isa: str
) -> Json:
    """Score all columns against the measurement; the first column is the repeated measurement.

    `floor`: its error without disturbed readings. `unasked`: {predictor without answers: reason}.
    """
    floor = floor_of(sheet, 0)
    assert floor.spread is not None, "the blocks were measured again"
    tools = {column.source.name: at for at, column in enumerate(columns) if column.source.is_published}
    checked = [
        _column_json(sheet, at, column.source.name, codes, isa)
        | {"judgement": verdict(sheet, at, floor, tools).as_json() if at else None}
        for at, column in enumerate(columns)
        if not column.error
    ]
    return {
        "blocks": len(sheet.items),
        "measured": int((sheet.reference > 0).sum()),
        "again": checked[0],
        "predictors": checked[1:],
        "unasked": {column.source.name: column.error for column in columns if column.error},
        "floor": floor.spread.as_json(),
    }


def _column_json(sheet: AnswerSheet, at: int, name: str, codes: Sequence[bytes], isa: str) -> Json:
    points, items = sheet.compare(at), sheet.items
    agreed = agreement(points)
    answered = int((sheet.columns[at].reasons == 0).sum())
    traits = traits_of_table(items, points.at)
    traits |= memory_traits([codes[place] for place in points.at.tolist()], isa)
    worst = points.worst(MAX_WORST)
    numbers = zip(worst.at.tolist(), worst.reference.tolist(), worst.predicted.tolist(), strict=True)
    return {
        "name": name,
        "answered": answered,
        "failed": len(items) - answered,
        **{field: getattr(agreed, field) for field in ("median", "near", "above")},
        "scores": agreed.scores.as_json(),
        "heat_map": heat_map(points.reference, points.predicted).as_json(),
        "bounds": [
            {"bound": group.name, "n": group.n, "mape": group.mape, "median": group.median}
            for group in (errors_by_group(points, items.bounds) if items.bounds else ())
        ],
        "traits": significant_traits(points.errors, traits).as_json(),
        "worst": [
            {
                "isa": isa,
                "hex": codes[place].hex(),
                "measured": measured,
                "said": predicted,
                "bound": _bound(sheet, place),
            }
            for place, measured, predicted in numbers
            if measured != predicted
        ],
    }


def _bound(sheet: AnswerSheet, place: int) -> str:
    bounds = sheet.items.bounds
    number = -1 if bounds is None else int(bounds.number[place])
    return "" if bounds is None or number < 0 else bounds.names[number]


def error_of(block: Json) -> float:
    """The error in per cent of the measurement, above 0 for a prediction that is too slow."""
    return float(100 * (block["said"] - block["measured"]) / block["measured"])

"""Accuracy checks in the language of their pages: what one has found, and how its run is described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inference.core.judging.accuracy import floor_of, verdict
from inference.core.judging.agreement import agreement, errors_by_group
from inference.core.judging.residual_traits import memory_traits, telling_traits, traits_of_table
from inference.core.judging.sheet import AnswerSheet
from inference.core.protocols import Json
from inference.features.judging.engine.sources import ComparisonColumn
from inference.features.running.runs.kind_presentation import DescriptionItem, links
from inference.figures.heatmap import heat_map
from inference.models import BasicBlockSet, Machine, Predictor, Run


def check_of(run: Run) -> Json | None:
    """What a run has found, complete also where an earlier version has stored it; None before it is done."""
    return {"rounds": 1, "floor": None, **run.result["check"]} if run.result else None


def words(run: Run) -> Iterator[DescriptionItem]:
    """What is measured where, and who is asked."""
    config = run.config
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config["machine"]]))
    yield DescriptionItem("Basic-block set", links=links(BasicBlockSet, "block-set", [config["block_set"]]))
    yield DescriptionItem("Blocks", f"{config['blocks']:,} at most, seed {config['seed']}, {config['mode']}")
    names = (
        Predictor.objects.filter(pk__in=config["predictors"]).order_by("pk").values_list("name", flat=True)
    )
    yield DescriptionItem("Asked", ", ".join(names) or "all that suit the machine")


WORST = 50
"""Blocks listed for each predictor."""
FACTS = ("machine", "source", "mode", "rounds", "blocks", "measured")
"""What a check says of the measurement, plain."""


def check_of_sheet(
    sheet: AnswerSheet, columns: Sequence[ComparisonColumn], codes: Sequence[bytes], isa: str
) -> Json:
    """All columns beside the measurement, of which the first is the same measured once more.

    `floor`: how far that is off, without disturbed readings. A predictor that said nothing is in `unasked`.
    """
    floor = floor_of(sheet, 0)
    assert floor.spread is not None, "the blocks were measured again"
    tools = {column.source.name: at for at, column in enumerate(columns) if column.source.is_published}
    checked = [
        _checked(sheet, at, column.source.name, codes, isa)
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


def _checked(sheet: AnswerSheet, at: int, name: str, codes: Sequence[bytes], isa: str) -> Json:
    points, items = sheet.compare(at), sheet.items
    agreed = agreement(points)
    answered = int((sheet.columns[at].reasons == 0).sum())
    traits = traits_of_table(items, points.at)
    traits |= memory_traits([codes[place] for place in points.at.tolist()], isa)
    worst = points.worst(WORST)
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
        "traits": telling_traits(points.errors, traits).as_json(),
        "worst": [
            {
                "isa": isa,
                "hex": codes[place].hex(),
                "measured": measured,
                "said": said,
                "bound": _bound(sheet, place),
            }
            for place, measured, said in numbers
            if measured != said
        ],
    }


def _bound(sheet: AnswerSheet, place: int) -> str:
    bounds = sheet.items.bounds
    number = -1 if bounds is None else int(bounds.number[place])
    return "" if bounds is None or number < 0 else bounds.names[number]


def error_of(block: Json) -> float:
    """In per cent of the measurement, above 0 where too much is predicted."""
    return float(100 * (block["said"] - block["measured"]) / block["measured"])

"""The mode of a question: whether copies of a block without a jump are unrolled or in a loop.

The mode belongs to the question: each predictor answers in it, by the options of its kind
(`PredictorKind.modes`), regardless of the mode it was stored with. Templates show the mode of an answer by a
word beside the number (`in_mode_words`) and a line below the table (`modes`).
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from django import template
from pydantic import Field

from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import all_kinds
from inference.features.asking.predictors.query import row_for
from inference.measuring.blocks import LOOP, MODES, UNROLLED
from inference.models import Predictor, Run
from inference.predictors import machine, nanobench
from inference.predictors.protocol import PredictorError
from inference.runs.errors import ConfigError
from inference.runs.request import AllowedTexts
from inference.web.request_fields import RequestField

MEASURING = (machine.KIND, nanobench.KIND)
AS_NAMED = ""
"""No mode: that of the machines in the question if they agree, else that of each predictor's options."""

QuestionMode = Annotated[
    str,
    AllowedTexts((AS_NAMED, *MODES)),
    Field(
        description="How copies of a block without a jump follow each other: unrolled, or "
        "loop. Empty: the mode of the machines in the question, else that of each predictor.",
        examples=[AS_NAMED],
    ),
]
"""The field `mode` of a run's description."""

AS_MEASURED = "the mode of the machines in the question, else that of each predictor"


def add_mode_option(parser: ArgumentParser, usual: str = AS_MEASURED, preset: str = AS_NAMED) -> None:
    """Add `--mode` to a command; `usual`: its default, in words.

    With a `preset` mode, an empty one can be given for that of the measurements.
    """
    parser.add_argument(
        "--mode",
        choices=(*MODES, AS_NAMED) if preset else MODES,
        default=preset,
        help=f"how copies of a block without a jump follow each other, for all predictors (default: {usual})",
    )


WORDS = {UNROLLED: "unrolled", LOOP: "in a loop", AS_NAMED: "either mode"}
"""{mode: its words beside a number of cycles}."""


def mode_field(as_named: str = "") -> RequestField:
    """The choice of a mode in a form; `as_named`: the label of `AS_NAMED`, "" to leave that choice out."""
    words = {LOOP: "copies in a loop", UNROLLED: "straight code, unrolled"}
    return RequestField(
        words | {AS_NAMED: as_named} if as_named else words,
        label="Blocks without a jump",
        initial=LOOP,
        required=False,
        help_text="The same for all predictors. Most code runs in loops; straight code has to be decoded, "
        "which on many cores takes longer than anything else.",
    )


def mode_of(row: Predictor) -> str:
    """The mode that a predictor answers in; "" if its answers do not depend on it, or it is unknown."""
    kind = all_kinds().get(row.sort)
    return "" if kind is None else kind.mode_of(row.options if row.is_runnable else _options_in_file(row))


def _options_in_file(row: Predictor) -> Json:
    """The options in the identity of an imported predictor; a machine's identity has its own under
    `options`."""
    options = row.identity.get("options")
    return {**row.identity, **(options if isinstance(options, dict) else {})}


def name_with_mode(row: Predictor) -> str:
    """The name with the predictor's mode; names of machines and nanoBench contain it already."""
    mode = "" if row.sort in MEASURING else mode_of(row)
    return row.name if not mode or mode in row.name else f"{row.name} · {mode}"


def row_in_mode(row: Predictor, mode: str) -> Predictor:
    """The predictor's row for a mode; the given row if the mode makes no difference, or if it was
    imported.

    Raises `PredictorError` if it cannot be used here.
    """
    kind = all_kinds().get(row.kind)
    if kind is None or not row.is_runnable:
        return row
    options = kind.in_mode(row.options, mode)
    if options == row.options:
        return row
    return row_for(row.kind, options, may_choose=True)  # the other options are stored already


def common_mode(rows: Iterable[Predictor | None]) -> str:
    """The mode of all predictors whose answers depend on it, "" if there are none or they differ."""
    modes = {mode_of(row) for row in rows if row is not None} - {AS_NAMED}
    return modes.pop() if len(modes) == 1 else AS_NAMED


def rows_in_question_mode(
    rows: Sequence[Predictor], mode: str, beside: Iterable[Predictor | None] = ()
) -> list[Predictor]:
    """The predictors of a question in its mode, each once.

    Args:
        rows: The predictors to ask.
        mode: The mode of the question; "" for that of the measurements.
        beside: Predictors whose stored answers these are compared with.

    Raises:
        ConfigError: if a predictor cannot be used in that mode here.
    """
    return rows_in_mode(rows, mode or mode_of_measurements([*rows, *beside]))


def mode_of_measurements(rows: Iterable[Predictor | None]) -> str:
    """The mode of the predictors that measure, "" if there are none or they differ."""
    return common_mode(row for row in rows if row is not None and row.sort in MEASURING)


def rows_in_mode(rows: Iterable[Predictor], mode: str) -> list[Predictor]:
    """The predictors in a mode, each once. Raises `ConfigError` if one cannot be used in it here."""
    try:
        return list(dict.fromkeys(row_in_mode(row, mode) for row in rows))
    except PredictorError as error:
        raise ConfigError(f"predictors: {error}") from error


def mode_of_question(run: Run, rows: Iterable[Predictor | None]) -> str:
    """The mode of a stored question: its own, else that of its predictors, else a loop."""
    return run.config.get("mode") or common_mode(rows) or LOOP


def different_modes(rows: Iterable[Predictor]) -> dict[str, list[str]]:
    """{words of a mode: names of the predictors that answer in it}; {} unless there are several modes."""
    names_by_mode: dict[str, list[str]] = {}
    for row in rows:
        if mode := mode_of(row):
            names_by_mode.setdefault(WORDS[mode], []).append(row.name)
    return names_by_mode if len(names_by_mode) > 1 else {}


register = template.Library()


@register.filter
def in_mode_words(row: Predictor | None) -> str:
    """`in a loop`, `unrolled` or `either mode`; "" for an unknown predictor."""
    return "" if row is None or not row.sort else WORDS[mode_of(row)]


@register.inclusion_tag("inference/predictors/modes.html")
def modes(rows: Iterable[Any]) -> dict[str, Any]:
    """The context of `inference/predictors/modes.html`.

    Args:
        rows: Predictors, or rows with a `name` and a `predictor`, None if it is unknown.
    """
    groups: dict[str, list[str]] = {}
    for row in rows:
        predictor = row if isinstance(row, Predictor) else row.predictor
        name = getattr(row, "name", "") or ("" if predictor is None else predictor.name)
        groups.setdefault(in_mode_words(predictor) or "not known", []).append(name)
    differ = len(groups.keys() - {WORDS[""], "not known"}) > 1
    return {"mode_groups": groups, "modes_differ": differ}

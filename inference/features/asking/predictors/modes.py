"""The mode in which a question is asked: whether blocks without a jump are straight code or copies in a loop.

The mode belongs to the question: whoever measures or predicts for it is asked in that mode, by the options of
its kind (`PredictorKind.modes`), whatever it was stored with. Templates say in which
mode predictors answer by a word beside a number (`in_mode_words`) and a line below a table (`modes`).
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
from inference.runs.request import OneOf
from inference.web.request_fields import RequestField

MEASURING = (machine.KIND, nanobench.KIND)
AS_NAMED = ""
"""No mode: that of the machines in the question where it is one, else what each predictor's options say."""

QuestionMode = Annotated[
    str,
    OneOf((AS_NAMED, *MODES)),
    Field(
        description="How blocks without a jump follow each other for everybody who is asked: unrolled, or "
        "loop. Empty: as they are measured where a machine takes part, else as each predictor says.",
        examples=[AS_NAMED],
    ),
]
"""The field `mode` of a run's description."""

AS_MEASURED = "as blocks are measured where a machine takes part, else as each predictor says"


def add_mode_option(parser: ArgumentParser, usual: str = AS_MEASURED, preset: str = AS_NAMED) -> None:
    """`--mode` of a command; `usual`: what holds without it, in words.

    A command that presets a mode takes an empty one for that of the measurements.
    """
    parser.add_argument(
        "--mode",
        choices=(*MODES, AS_NAMED) if preset else MODES,
        default=preset,
        help=f"how blocks without a jump follow each other, for everybody who is asked (default: {usual})",
    )


WORDS = {UNROLLED: "unrolled", LOOP: "in a loop", AS_NAMED: "either mode"}
"""What stands beside a number of cycles."""


def mode_field(as_named: str = "") -> RequestField:
    """The choice of a form; `as_named`: the label of `AS_NAMED`, "" where a mode has to be chosen."""
    words = {LOOP: "copies in a loop", UNROLLED: "straight code, unrolled"}
    return RequestField(
        words | {AS_NAMED: as_named} if as_named else words,
        label="Blocks without a jump",
        initial=LOOP,
        required=False,
        help_text="Everybody is asked for the same. Most code runs in loops; straight code is decoded, "
        "which on many cores takes longer than anything else.",
    )


def mode_of(row: Predictor) -> str:
    """The mode that a predictor answers in; "" where it makes no difference to it, or is not known."""
    kind = all_kinds().get(row.sort)
    return "" if kind is None else kind.mode_of(row.options if row.askable else _options_in_file(row))


def _options_in_file(row: Predictor) -> Json:
    """The options that the identity of a predictor from a file has; those of machines are in a part of it."""
    own = row.identity.get("options")
    return {**row.identity, **(own if isinstance(own, dict) else {})}


def titled(row: Predictor) -> str:
    """The name with the mode that it answers in; what measures has that in its name already."""
    mode = "" if row.sort in MEASURING else mode_of(row)
    return row.name if not mode or mode in row.name else f"{row.name} · {mode}"


def in_mode(row: Predictor, mode: str) -> Predictor:
    """The same predictor for a mode; itself where that makes no difference, and for one of a file.

    Raises `PredictorError` where it cannot be used here.
    """
    kind = all_kinds().get(row.kind)
    if kind is None or not row.askable:
        return row
    options = kind.in_mode(row.options, mode)
    if options == row.options:
        return row
    return row_for(row.kind, options, may_choose=True)  # the rest is as it was stored


def common_mode(rows: Iterable[Predictor | None]) -> str:
    """The mode in which all answer that know modes, "" where none does and where they differ."""
    modes = {mode_of(row) for row in rows if row is not None} - {AS_NAMED}
    return modes.pop() if len(modes) == 1 else AS_NAMED


def asked_in_mode(
    rows: Sequence[Predictor], mode: str, beside: Iterable[Predictor | None] = ()
) -> list[Predictor]:
    """The predictors of a question in its mode, each once.

    Args:
        rows: Those that are asked.
        mode: That of the question; "" for that of the measurements.
        beside: Those whose answers are there already, and are compared with.

    Raises:
        ConfigError: where one cannot be asked in that mode here.
    """
    return rows_in_mode(rows, mode or mode_of_measurements([*rows, *beside]))


def mode_of_measurements(rows: Iterable[Predictor | None]) -> str:
    """The mode of those that measure, "" where none does and where they differ."""
    return common_mode(row for row in rows if row is not None and row.sort in MEASURING)


def rows_in_mode(rows: Iterable[Predictor], mode: str) -> list[Predictor]:
    """The predictors in a mode, each once. Raises `ConfigError` where one cannot be asked in it here."""
    try:
        return list(dict.fromkeys(in_mode(row, mode) for row in rows))
    except PredictorError as error:
        raise ConfigError(f"predictors: {error}") from error


def mode_asked(run: Run, rows: Iterable[Predictor | None]) -> str:
    """The mode of a question that was asked: the stated one, that of its predictors, else a loop."""
    return run.config.get("mode") or common_mode(rows) or LOOP


def different_modes(rows: Iterable[Predictor]) -> dict[str, list[str]]:
    """{mode: names of the predictors that answer in it} where there are several, else {}."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if mode := mode_of(row):
            found.setdefault(WORDS[mode], []).append(row.name)
    return found if len(found) > 1 else {}


register = template.Library()


@register.filter
def in_mode_words(row: Predictor | None) -> str:
    """`in a loop`, `unrolled`, `either mode`; "" where nothing is known of the predictor."""
    return "" if row is None or not row.sort else WORDS[mode_of(row)]


@register.inclusion_tag("inference/predictors/modes.html")
def modes(rows: Iterable[Any]) -> dict[str, Any]:
    """What `inference/predictors/modes.html` needs.

    Args:
        rows: Predictors, or rows with a `name` and a `predictor`, None where it is not known.
    """
    groups: dict[str, list[str]] = {}
    for row in rows:
        predictor = row if isinstance(row, Predictor) else row.predictor
        name = getattr(row, "name", "") or ("" if predictor is None else predictor.name)
        groups.setdefault(in_mode_words(predictor) or "not known", []).append(name)
    differ = len(groups.keys() - {WORDS[""], "not known"}) > 1
    return {"mode_groups": groups, "modes_differ": differ}

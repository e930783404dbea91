"""One processor for all tools that are asked, instead of one in the options of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from inference.features.asking.predictors.processors import options_for
from inference.features.asking.predictors.query import chosen, row_for
from inference.models import Predictor
from inference.predictors.processor_names import PROCESSORS, processor_option
from inference.predictors.protocol import PredictorError
from inference.storage.names import UnknownNameError

_NEAR = 3
"""Names that are offered for one that there is not."""


def check_processor(name: str) -> str:
    """The name. Raises `UnknownNameError` for one that no tool could know."""
    if name and name not in PROCESSORS:
        near = get_close_matches(name, PROCESSORS, _NEAR, cutoff=0.0)
        raise UnknownNameError("processor", name, near)
    return name


def on_processor(row: Predictor, processor: str) -> Predictor:
    """The same tool for a processor; itself where it is told none, or was added with one by somebody.

    Raises `PredictorError` where the tool knows no such processor.
    """
    option = processor_option(row.kind)
    if not processor or not option or row.origin == Predictor.Origin.CONFIGURED:
        return row
    rest = {name: value for name, value in row.options.items() if name != option}
    why = ""
    for options in options_for(row.kind, rest, processor):
        try:
            return row_for(row.kind, options, may_choose=True)  # all but the processor is as it was stored
        except PredictorError as error:
            why = f": {error}"
    raise PredictorError(f"{row.name} has no model of {processor}{why}")


def names_processor(text: str) -> bool:
    """Whether a predictor is named with a processor of its own, `llvm-mca:cpu=haswell`."""
    kind, _, options = text.partition(":")
    option = processor_option(kind)
    return bool(option) and f"{option}=" in options


def chosen_on(text: str, processor: str, *, may_choose: bool = False) -> Predictor:
    """See `query.chosen`, for a processor unless the text names one. Raises `PredictorError`."""
    row = chosen(text, may_choose=may_choose)
    return row if names_processor(text) else on_processor(row, processor)


def known_on(rows: Iterable[Predictor], processor: str) -> tuple[list[Predictor], list[str]]:
    """The predictors for a processor, each once, and why others cannot be asked about it."""
    found: dict[Predictor, None] = {}
    left_out = []
    for row in rows:
        try:
            found[on_processor(row, processor)] = None
        except PredictorError as error:
            left_out.append(str(error))
    return list(found), left_out


def in_words(processors: Mapping[str, Sequence[str]]) -> str:
    """What `different_processors` has found, in a sentence; "" for nothing."""
    if not processors:
        return ""
    told = "; ".join(f"{name}: {', '.join(rows)}" for name, rows in processors.items())
    return f"these predictions are for different processors: {told}"

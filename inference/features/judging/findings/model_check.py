"""Checks of the port mapping model: the description of their runs, and their results as tables.

Results are read from the run's journal, during the run and afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Annotated

from pydantic import Field

from inference.core.model_check import (
    MIX_LENGTHS,
    ORDER_LENGTHS,
    AloneCheck,
    AloneSummary,
    AloneVerdict,
    most_orders,
    summary_of,
)
from inference.core.protocols import Json
from inference.features.judging.engine.tables import Column, choice, code, number, table_of, text
from inference.features.judging.findings.events import MixesMeasured, OrdersMeasured, SchemesAlone
from inference.features.machines.measure.request import Effort
from inference.formats import journal_events
from inference.models import ISA, Machine, PortMapping, Run, RunEvent
from inference.models.scheme_search import matching_texts
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import estimated_seconds, read_machine
from inference.runs.request import DEFAULT_SEED, MAX_MIXES, RunRequest, Schemes, Seed
from inference.runs.stages import ORDERS, RANDOM_MIXES, SINGLETONS
from inference.web.published_page import PublishedTable

MAX_PERMUTATIONS = 100


class CheckConfig(RunRequest):
    """The description of a run of kind `check-model`.

    `machine`: id. `reference`: id of the port mapping that predicts; None compares single schemes with 1/n
    cycles. `schemes` and `scheme_filter`: as in a measuring run. `mixes`: random mixes of each length.
    `sequences`: experiments of each length in up to `permutations` orders. 0 leaves a stage out. The thesis
    has 5,000, 500 and 10.
    """

    noun = "a check of the model"
    machine: int
    isa: str = ""
    reference: int | None = None
    schemes: Schemes = "default"
    scheme_filter: str = ""
    mixes: Annotated[int, Field(ge=0, le=MAX_MIXES)] = 200
    sequences: Annotated[int, Field(ge=0, le=MAX_MIXES)] = 50
    permutations: Annotated[int, Field(ge=2, le=MAX_PERMUTATIONS)] = 5
    seed: Seed = DEFAULT_SEED

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of the run; those with 0 experiments are left out."""
        numbers = ((SINGLETONS, 1), (RANDOM_MIXES, self.mixes), (ORDERS, self.sequences))
        return tuple(stage for stage, number in numbers if number)


def read_config(description: Json) -> CheckConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = CheckConfig.read(description)
    machine = read_machine("", config.machine, config.isa)
    checked = {"isa": machine.isa.name}
    return config.model_copy(update=checked | {"reference": _read_reference(config.reference, machine)})


def _read_reference(pk: int | None, machine: Machine) -> int | None:
    if pk is None:
        return None
    row = PortMapping.objects.filter(pk=pk).first()
    if row is None:
        raise ConfigError(f"reference: there is no port mapping with the id {pk!r}")
    if row.isa_id != machine.isa_id:
        raise ConfigError(f"reference: {row.name!r} and {machine.name!r} are for different instruction sets")
    return row.pk


def check_effort(machine: Machine, schemes: int, mixes: int, sequences: int, permutations: int) -> Effort:
    """An upper bound of the experiments and seconds of such a run on a machine."""
    mixed = mixes * (len(MIX_LENGTHS) - 1)  # mixes of one instruction are measured by then
    ordered = sum(sequences * most_orders(length, permutations) for length in ORDER_LENGTHS)
    experiments = schemes + mixed + ordered
    return Effort(experiments, estimated_seconds(experiments, machine))


def archived(config: Json) -> Json:
    """The description of a run from an archive. Raises `ExchangeError` or `ConfigError`."""
    return CheckConfig.from_archive(config, "isa").as_json()


KINDS = (SchemesAlone.kind, MixesMeasured.kind, OrdersMeasured.kind)
"""The kinds of events that `model_check_of` reads."""


@dataclass(frozen=True)
class ModelCheck:
    """Schemes alone in the order of their measurement, and the events of mixes and orders by length."""

    alone: tuple[AloneCheck, ...]
    mixes: tuple[Json, ...]
    orders: tuple[Json, ...]

    @property
    def summary(self) -> AloneSummary:
        return summary_of(self.alone)


def model_check_of(run: Run) -> ModelCheck:
    """The results in the run's journal so far; repeated events replace earlier ones (one query)."""
    alone: dict[str, AloneCheck] = {}
    lengths: dict[str, dict[int, Json]] = {MixesMeasured.kind: {}, OrdersMeasured.kind: {}}
    events = RunEvent.objects.filter(run=run, kind__in=KINDS).order_by("seq")
    for kind, payload in events.values_list("kind", "payload"):
        event = journal_events.read(kind, payload)
        if isinstance(event, SchemesAlone):
            alone |= {row.scheme: row for row in event.rows}
        elif isinstance(event, MixesMeasured | OrdersMeasured):
            lengths[kind][event.length] = payload
    mixes, orders = (tuple(payloads[length] for length in sorted(payloads)) for payloads in lengths.values())
    return ModelCheck(tuple(alone.values()), mixes, orders)


def checked_schemes(run: Run, check: ModelCheck, verdict: AloneVerdict | None, q: str) -> list[AloneCheck]:
    """The schemes with a verdict that match a search, the largest errors first. Raises `SearchError`."""
    alone = [scheme for scheme in check.alone if verdict in (None, scheme.verdict)]
    isa = ISA.objects.filter(name=run.config["isa"]).first() if q.strip() else None
    if isa is not None:
        texts = matching_texts(isa.pk, q)
        alone = [scheme for scheme in alone if scheme.scheme in texts]
    return sorted(alone, key=lambda scheme: (-abs(scheme.error or 0.0), scheme.scheme))


def reference_of(run: Run) -> PortMapping | None:
    """The port mapping that the run compares with; None without one, or if it has been deleted."""
    return PortMapping.objects.filter(pk=run.config.get("reference")).first()


def schemes_table(
    alone: Iterable[AloneCheck],
    *extra_columns: Column[AloneCheck],
    scheme: Callable[[AloneCheck], str] = attrgetter("scheme"),
) -> PublishedTable:
    """A row per scheme, with its error in per cent of the measurement."""
    return table_of(
        "schemes",
        "Schemes alone",
        alone,
        (code("scheme"), scheme),
        (choice("verdict"), lambda scheme: scheme.verdict.value),
        (number("cycles measured", 3), lambda scheme: scheme.measured),
        (number("cycles modelled", 3), lambda scheme: scheme.modelled),
        (number("error %", 1), lambda scheme: None if scheme.error is None else 100 * scheme.error),
        (text("note"), lambda scheme: scheme.note),
        *extra_columns,
    )


def mixes_table(
    mixes: Iterable[Json], length: Callable[[Json], float] = itemgetter("length")
) -> PublishedTable:
    """A row per length, without scores if there is no reference."""

    def score(name: str) -> Callable[[Json], float | None]:
        return lambda of_length: (of_length["scores"] or {}).get(name)

    return table_of(
        "mixes",
        "Random mixes by length",
        mixes,
        (number("instructions", 0), length),
        (number("experiments", 0), itemgetter("asked")),
        (number("settled", 0), itemgetter("settled")),
        (number("MAPE %", 1), score("mape")),
        (number("Pearson r", 3), score("pearson")),
        (number("Kendall tau", 3), score("kendall")),
        (number("slower than in turn", 0), itemgetter("slower")),
        (number("faster than alone", 0), itemgetter("faster")),
    )


def orders_table(orders: Iterable[Json], *extra_columns: Column[Json]) -> PublishedTable:
    """A row per length, as in Table 3.1 of the thesis."""
    return table_of(
        "orders",
        "The same mixes in other orders",
        orders,
        (number("instructions", 0), itemgetter("length")),
        (number("experiments", 0), itemgetter("asked")),
        (number("compared", 0), itemgetter("samples")),
        (number("mean CPI", 4), itemgetter("mean")),
        (number("largest CPI", 3), itemgetter("largest")),
        (number("over 0.05 CPI", 0), itemgetter("notable")),
        *extra_columns,
    )


TABLES: dict[str, Callable[[ModelCheck], PublishedTable]] = {
    "schemes": lambda check: schemes_table(check.alone),
    "mixes": lambda check: mixes_table(check.mixes),
    "orders": lambda check: orders_table(check.orders),
}
"""{name: table} of the exported tables."""

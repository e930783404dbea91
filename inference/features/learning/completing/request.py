"""The description of a completion."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from inference.core.protocols import Json
from inference.models import InstructionScheme, Machine, StoredCoreModel
from inference.runs.errors import ConfigError
from inference.runs.machines.facts import read_block_machine
from inference.runs.request import RunRequest, read_row

KIND = "complete"
MAX_SCHEMES = 40
"""More belong into a profile: others wait for the machine while a completion is measured."""


class CompletionConfig(RunRequest):
    """`core_model`: id of a model that was measured here. `schemes`: ids of those to measure.

    `machine` is the model's, unless another one with the same core is given. `isa` is the model's.
    """

    noun = "a completion of a core model"
    core_model: int
    machine: int | None = None
    isa: str = ""
    schemes: Annotated[list[int], Field(min_length=1, max_length=MAX_SCHEMES)]


def read_config(description: Json) -> CompletionConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = CompletionConfig.read(description)
    row = read_row(StoredCoreModel, "core_model", config.core_model)
    if reason := obstacle_to_completing(row):
        raise ConfigError(f"core_model: {reason}")
    machine = read_block_machine(row.machine_id if config.machine is None else config.machine)
    if machine.isa_id != row.isa_id:
        raise ConfigError(f"{machine.name!r} is for {machine.isa.name}, the core model for {row.isa.name}")
    known = set(
        InstructionScheme.objects.filter(isa=row.isa_id, pk__in=config.schemes).values_list("pk", flat=True)
    )
    if unknown := [pk for pk in config.schemes if pk not in known]:
        raise ConfigError(f"schemes: {row.isa.name} has no scheme with the id {unknown[0]}")
    schemes = list(dict.fromkeys(config.schemes))
    return config.model_copy(update={"isa": row.isa.name, "machine": machine.pk, "schemes": schemes})


def obstacle_to_completing(row: StoredCoreModel) -> str:
    """Why nothing can be added to a core model by measuring, "" where it can."""
    if row.document is not None:
        return f"{row.name} was imported as a document: profile a computer with this CPU instead"
    if row.machine is None:
        return f"{row.name} has parts of no machine or of several: profile a computer with this CPU instead"
    if row.machine.kind == Machine.Kind.PUBLISHED:
        return f"{row.machine.name} is known from publications and cannot measure"
    return ""

"""Default names of runs and results: processor · subject · method, as in "Zen 4 · starter set · PMEvo"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from inference.isa.blocks import intel_or_digits
from inference.isa.targets import code_target
from inference.models import BlockColumn, InstructionScheme, Machine, Upload
from inference.models.named import Named
from inference.storage.names import NAME_LIMIT

SEPARATOR = " · "
_LIMIT = NAME_LIMIT - 20
"""Characters of a composed name; the rest is for a number that makes it unique."""

_MIN_PART_LENGTH = 20  # characters

_BRAND_NOISE = re.compile(r"\((?:R|TM|C)\)| (?:\d+-Core )?Processor\b| CPU\b", re.IGNORECASE)
"""What brand strings have beside the product's name: "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"."""

_SELECTIONS = {
    "all": "all schemes",
    "default": "default set",
    "starter": "starter set",
    "probes": "probes",
    "legacy-sse": "legacy SSE",
    "mmx": "MMX",
    "x87": "x87",
    "avx512": "AVX-512",
}
_MAX_BLOCK = 90  # characters
_MAX_NAMED = 2
"""Longer lists are named by their first entry and their size."""


def result_name(*parts: str) -> str:
    """The non-empty parts, joined; the longest one is shortened where the name would be too long.

    >>> result_name("Zen 4", "starter set", "", "PMEvo")
    'Zen 4 · starter set · PMEvo'
    """
    named = [part for part in parts if part]
    while (excess := len(SEPARATOR.join(named)) - _LIMIT) > 0:
        longest = max(range(len(named)), key=lambda place: len(named[place]))
        length = max(_MIN_PART_LENGTH, len(named[longest]) - excess - 1)
        if length >= len(named[longest]) - 1:
            return SEPARATOR.join(named)[:_LIMIT]
        named[longest] = f"{named[longest][:length].rstrip()}…"
    return SEPARATOR.join(named)


def row_names(model: type[Named] | type[BlockColumn], ids: Iterable[int | None]) -> list[str]:
    """The names of rows in the order of their ids; None and unknown ids are left out (one query)."""
    numbers = [pk for pk in ids if pk is not None]
    names = dict(model._default_manager.filter(pk__in=numbers).values_list("pk", "name"))
    return [names[pk] for pk in numbers if pk in names]


def file_name(upload: int) -> str:
    """The name of an uploaded file; "" where it has been deleted."""
    return "".join(Upload.objects.filter(pk=upload).values_list("file_name", flat=True))


def enumerated(names: Sequence[str]) -> str:
    """One or two names; of more, the first one and the number of others.

    >>> enumerated(["uiCA", "OSACA", "llvm-mca 18"])
    'uiCA and 2 more'
    """
    if len(names) <= _MAX_NAMED:
        return " and ".join(names)
    return f"{names[0]} and {len(names) - 1} more"


def processor_name(machine: Machine | int) -> str:
    """The documented core of a machine, else its CPU's product name, else the machine's name.

    Where another computer has the same core, the machine's name is added, as in "Zen 4 (lab)". Simulated
    processors go by their own name.

    Args:
        machine: A row, or its id.
    """
    if isinstance(machine, int):
        machine = Machine.objects.select_related("isa").get(pk=machine)
    if machine.is_simulated:
        return machine.name
    name = _core_or_product(machine.isa.name, machine.facts, machine.cpu)
    if not name:
        return machine.name
    computers = Machine.objects.filter(isa=machine.isa_id).exclude(kind=Machine.Kind.SIMULATED)
    rivals = computers.exclude(pk=machine.pk).values_list("facts", "cpu")
    if all(_core_or_product(machine.isa.name, facts, cpu) != name for facts, cpu in rivals):
        return name
    return machine.name if name.casefold() in machine.name.casefold() else f"{name} ({machine.name})"


def _core_or_product(isa: str, facts: dict[str, Any], cpu: str) -> str:
    core = code_target(isa).schemes.core_of(facts)
    return _product(cpu) if core is None else core.name


def _product(cpu: str) -> str:
    """A brand string without its noise."""
    return _BRAND_NOISE.sub("", " ".join(cpu.partition("@")[0].split())).strip()


def machine_label(machine: Machine) -> str:
    """What a machine is and which one: "Zen 5 (AMD EPYC 9R14), this computer", "Zen 4 (AMD EPYC), lab".

    Takes no query where `machine.isa` has been read.
    """
    if machine.is_simulated:
        return f"{machine.name}, simulated"
    core = code_target(machine.isa.name).schemes.core_of(machine.facts)
    product = _product(machine.cpu)
    if core is None:
        name = product
    else:
        name = f"{core.name} ({product})" if product and product != core.name else core.name
    if not name or machine.kind == Machine.Kind.PUBLISHED:
        return machine.name
    return f"{name}, this computer" if machine.local else f"{name}, {machine.name}"


def selection_name(schemes: str | Sequence[int], search: str = "", sample: int | None = None) -> str:
    """A selection of schemes as a run's description has it.

    Args:
        schemes: A word for a selection, or row ids.
        search: The search text that the ids come from; a word for a selection, too.
        sample: Number of schemes that are taken of the selection; None for all.
    """
    if isinstance(schemes, str):
        words = _SELECTIONS.get(schemes, schemes)
    elif search:
        words = _SELECTIONS.get(search, search)
    elif len(schemes) <= _MAX_NAMED:
        rows = InstructionScheme.objects.filter(pk__in=schemes).order_by("pk")
        words = " and ".join(rows.values_list("text", flat=True))
    else:
        words = f"{len(schemes):,} schemes"
    return words if sample is None else f"{sample:,} of {words}"


def blocks_name(blocks: Sequence[str], isa: str) -> str:
    """The first block in Intel syntax, with the number of blocks if there are several.

    Args:
        blocks: At least one block's machine code in hexadecimal.
        isa: Name of its instruction set.
    """
    first = "; ".join(intel_or_digits(bytes.fromhex(blocks[0]), isa))
    first = first if len(first) <= _MAX_BLOCK else f"{first[:_MAX_BLOCK].rstrip()}…"
    return first if len(blocks) == 1 else f"{len(blocks):,} blocks from {first}"

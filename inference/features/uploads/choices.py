"""How a file shall be read, as the address of its preview says: what its user has decided so far."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from inference.core.protocols import Json
from inference.features.uploads.job import LEAVE_OUT, STOP
from inference.formats.file_units import FileUnit
from inference.formats.importing import Preview, name_list_of, preview, rejects_of
from inference.formats.typed import NEAREST as OFFERED
from inference.models import ISA, PortMapping, Upload
from inference.storage.instruction_sets import vocabulary
from inference.storage.names import free_name
from inference.web.requests import one_of, whole_number

NEW = "new"
NO_NAMES = "none"
NO_REJECTS, ALL_REJECTS = "none", "all"
NEAREST = "nearest"
"""Every unknown name is taken for the scheme that comes nearest."""
ARROW = " → "
"""Between a name of the file and the scheme that it is taken for, in the address."""
_MOST_TAKEN = 200


@dataclass(frozen=True)
class SideFiles:
    """Other uploads to read a file with, and which of its microarchitectures."""

    names: Upload | None = None
    rejects: tuple[Upload, ...] = ()
    microarchitecture: str = ""

    def config(self) -> Json:
        """As the description of an import has them."""
        told: Json = {} if self.names is None else {"names": self.names.pk}
        if self.rejects:
            told["rejects"] = [each.pk for each in self.rejects]
        if self.microarchitecture:
            told["microarchitecture"] = self.microarchitecture
        return told


@dataclass(frozen=True)
class Choices:
    """What the address says: `unit` of numbers that name none ("": what they seem to be), whether rows with
    problems are left out, which unknown names are taken for which schemes, and the mapping whose ports the
    numbers are held against.
    """

    unit: FileUnit | None = None
    broken: str = STOP
    take: str = ""
    taken: tuple[str, ...] = ()
    ports: PortMapping | None = None

    @classmethod
    def read(cls, request: HttpRequest) -> Choices:
        """Raises `BadRequest` for what no choice can be."""
        unit = one_of(request, "unit", tuple(FileUnit))
        ports = whole_number(request, "ports")
        taken = tuple(request.GET.getlist("taken"))
        if len(taken) > _MOST_TAKEN:
            raise BadRequest(f"at most {_MOST_TAKEN} names can be taken one by one, not {len(taken)}")
        return cls(
            unit=FileUnit(unit) if unit else None,
            broken=one_of(request, "broken", (STOP, LEAVE_OUT), STOP),
            take=one_of(request, "take", (NEAREST,)),
            taken=taken,
            ports=None if ports is None else get_object_or_404(PortMapping, pk=ports),
        )


def seen_as_chosen(request: HttpRequest, found: Upload, beside: SideFiles, choices: Choices) -> Preview:
    """Parse a file the way the address asks; of it, `isa` is an id or "new"."""
    ids = tuple(str(pk) for pk in ISA.objects.values_list("pk", flat=True))
    wanted = one_of(request, "isa", (*ids, NEW))
    new = free_name(ISA, PurePath(found.file_name).stem or "instruction set") if wanted == NEW else ""
    names = (
        None if beside.names is None else name_list_of(bytes(beside.names.content), beside.names.file_name)
    )
    return preview(
        bytes(found.content),
        found.file_name,
        isa=ISA.objects.get(pk=wanted) if wanted and not new else None,
        founding=new,
        unit=choices.unit,
        names=None if new else names,
        rejects=[rejects_of(bytes(each.content), each.file_name) for each in beside.rejects],
        microarchitecture=beside.microarchitecture,
        taken={} if new else dict(_taken(choices.taken)),
        take_nearest=choices.take == NEAREST and not new,
        leave_out=choices.broken == LEAVE_OUT,
    )


@dataclass(frozen=True)
class NameSuggestion:
    """An unknown name of a file, and the one of the nearest schemes that it is `taken` for, "" for none.

    `rows` it is in, the first of which is `row` (None once it is taken); `choices`: (value for the address,
    scheme).
    """

    name: str
    rows: int | None
    row: int | None
    choices: tuple[tuple[str, str], ...]
    taken: str = ""


def offers_of(seen: Preview) -> list[NameSuggestion]:
    """The names of the file that no scheme has, those that are taken for one among them."""
    found = []
    for each in seen.parsed.unknown:
        choices = tuple((f"{each.name}{ARROW}{near}", near) for near in each.nearest)
        found.append(NameSuggestion(each.name, each.rows, each.row, choices))
    if seen.isa is None:
        return found
    names = vocabulary(seen.isa)
    for name, text in seen.taken.items():
        near = dict.fromkeys((text, *names.nearest(name, OFFERED)))
        choices = tuple((f"{name}{ARROW}{other}", other) for other in near)
        found.append(NameSuggestion(name, None, None, choices, text))
    return sorted(found, key=lambda offer: offer.name)


def _taken(pairs: tuple[str, ...]) -> list[tuple[str, str]]:
    """`name in the file → scheme`, as the boxes of the preview write it."""
    found = []
    for pair in filter(None, pairs):
        name, arrow, text = pair.partition(ARROW)
        if not arrow:
            raise BadRequest(f"taken must be a name, an arrow and a scheme, not {pair[:80]!r}")
        found.append((name, text))
    return found

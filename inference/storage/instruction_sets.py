"""Instruction sets in the database.

x86-64 and AArch64 come with the software (the ISA room), others from documents in the public format
(`inference.isa.document`) or, with no more than texts, from the names in an imported file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial

from django.db import connection, transaction
from django.db.models import Count, Max

from inference.formats.errors import ExchangeError
from inference.isa.document import InstructionSetError, read_instruction_set
from inference.isa.microarchitecture import Microarchitecture
from inference.isa.names import SchemeNames
from inference.isa.scheme import Features, Scheme
from inference.isa.targets import code_target, target_of, targets
from inference.models import ISA, InstructionScheme, Machine
from inference.storage.names import free_or_refuse
from inference.storage.rows import BATCH, scheme_ids

# Which core a machine has, by what its agent says.


def core_of(machine: Machine) -> Microarchitecture | None:
    """What is documented about the core of a machine, None where it is not known."""
    return code_target(machine.isa.name).schemes.core_of(machine.facts)


GONE = "the source no longer has this scheme"
_FIELDS = (
    "mnemonic",
    "extension",
    "category",
    "encoding",
    "memory",
    "width",
    "operands",
    "exclusion",
    "starter",
)
_PLAIN = Features("", "")
_vocabularies: dict[int, tuple[object, SchemeNames]] = {}


@transaction.atomic
def store_isa(name: str, schemes: Iterable[Scheme], source: str) -> ISA:
    """Make or update an instruction set so that it has exactly these schemes.

    Rows are found by their text and updated in place, so whatever refers to them stays. A row without a
    scheme is deleted if nothing refers to it, and excluded with the reason `GONE` otherwise.
    """
    isa, _ = ISA.objects.update_or_create(name=name, defaults={"source": source})
    rows = [_row(isa, scheme) for scheme in schemes]
    InstructionScheme.objects.bulk_create(
        rows, batch_size=BATCH, update_conflicts=True, unique_fields=["isa", "text"], update_fields=_FIELDS
    )
    texts = {row.text for row in rows}
    gone = [row_id for text, row_id in scheme_ids(isa).items() if text not in texts]
    for start in range(0, len(gone), BATCH):
        batch = isa.schemes.filter(id__in=gone[start : start + BATCH])
        batch.filter(terms=None, usages=None, resource_loads=None).delete()
        batch.update(exclusion=GONE, starter=False)
    _tell_planner()
    return isa


def _row(isa: ISA, scheme: Scheme) -> InstructionScheme:
    return InstructionScheme(
        isa=isa,
        text=scheme.text,
        mnemonic=scheme.mnemonic,
        extension=scheme.extension,
        category=scheme.category,
        encoding=scheme.encoding,
        memory=scheme.memory,
        width=scheme.width,
        operands=[operand.as_json() for operand in scheme.operands],
        exclusion=scheme.exclusion,
        starter=scheme.starter,
    )


def load_supplied(name: str) -> tuple[ISA, bool]:
    """An instruction set that comes with the software, made or updated where its source has changed.

    Returns the row and whether it was. Looking takes milliseconds, making and updating some seconds.
    """
    catalogue = target_of(name).schemes
    isa = ISA.objects.filter(name=name).first()
    if isa is not None and isa.source.endswith(catalogue.version()):
        return isa, False
    return store_isa(name, catalogue.schemes(), catalogue.source()), True


SUPPLIED = {target.name: partial(load_supplied, target.name) for target in targets()}
"""Instruction sets that come with the software, and what loads each."""


BYTES_AT_ONCE = 2 * 2**20
"""Of a document that is loaded while somebody waits, thousands of schemes; the shell takes larger ones."""


def load_document(content: bytes) -> ISA:
    """An instruction set from a document in the public format, made or updated. Raises `ExchangeError`."""
    try:
        found = read_instruction_set(content)
    except InstructionSetError as error:
        raise ExchangeError(f"no instruction set: {error}") from error
    if found.name in SUPPLIED:
        raise ExchangeError(f"{found.name} comes with this software: give the document another name")
    return store_isa(found.name, found.schemes, found.source)


@transaction.atomic
def new_isa(
    name: str, texts: Iterable[str], source: str, features: Mapping[str, Features] | None = None
) -> ISA:
    """An instruction set of which the scheme texts are known, and of some the features; raises
    `NameTakenError`.
    """
    free_or_refuse(ISA, name)
    isa = ISA.objects.create(name=name, source=source)
    add_schemes(isa, texts, features or {})
    return isa


def add_schemes(isa: ISA, texts: Iterable[str], features: Mapping[str, Features]) -> None:
    """Give an instruction set further schemes of which the texts are known, and perhaps features."""
    InstructionScheme.objects.bulk_create(
        [_scheme(isa, text, features.get(text, _PLAIN)) for text in texts],
        batch_size=BATCH,
        ignore_conflicts=True,
    )
    _tell_planner()


def _tell_planner() -> None:
    """How the schemes spread over instruction sets: SQLite, which does not look by itself, takes each set for
    a few schemes otherwise, and reads all 17,000 to find a dozen by their names. PostgreSQL looks.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {InstructionScheme._meta.db_table}")


def _scheme(isa: ISA, text: str, features: Features) -> InstructionScheme:
    return InstructionScheme(
        isa=isa,
        text=text,
        mnemonic=mnemonic_of(text),
        extension=features.extension[:60],
        category=features.category[:60],
    )


def mnemonic_of(text: str) -> str:
    """The leading word of a scheme's text, as far as blanks and underscores tell: `_add_((REG…` → `add`."""
    words = re.split(r"[\s_(]+", text.strip().lstrip("_"), maxsplit=1)
    return (words[0] or text)[:60].lower()


def vocabulary(isa: ISA) -> SchemeNames:
    """The names of an instruction set's schemes; kept per process until the schemes change."""
    # Texts are never updated and ids not used twice, so their number and the newest tell every change.
    state = (isa.created, isa.schemes.aggregate(count=Count("id"), newest=Max("id")))
    cached = _vocabularies.get(isa.pk)
    if cached is None or cached[0] != state:
        cached = _vocabularies[isa.pk] = (state, SchemeNames(scheme_ids(isa)))
    return cached[1]


def likely_isa(names: Iterable[str], said: Mapping[str, object]) -> ISA | None:
    """The instruction set that a file is about: the one it says, or the one that knows most of its names.

    None where no instruction set knows any. `said` are the facts of the file's document.
    """
    named = said.get("isa")
    if isinstance(named, str):
        isa = ISA.objects.filter(name=named).first()
        if isa is not None:
            return isa
    asked = list(names)
    best: tuple[int, ISA] | None = None
    for isa in ISA.objects.order_by("id"):
        known = vocabulary(isa)
        score = sum(known.resolve(name) is not None for name in asked)
        if score and (best is None or score > best[0]):
            best = (score, isa)
    return best[1] if best else None

"""Stores instruction sets and looks schemes up in them; which core a machine has.

Those of `inference.isa.targets` come with the software. Others are made from documents in the public
format (`inference.isa.document`), or, with scheme texts only, from the names in an imported file.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from django.db import connection, transaction
from django.db.models import Count, Max, Q

from inference.core.experiment import Experiment
from inference.formats.experiment_csv import parse_terms
from inference.formats.problems import ExchangeError, FilePlace, Problems
from inference.isa.document import InstructionSetError, read_instruction_set
from inference.isa.microarchitecture import Microarchitecture
from inference.isa.names import SchemeNames
from inference.isa.scheme import Features, Scheme
from inference.isa.targets import DEFAULT, FOLDERS, code_target, target_of, targets
from inference.models import ISA, ExperimentSet, InstructionScheme, Machine, PortMapping, ResourceMapping
from inference.storage.names import check_name_free
from inference.storage.rows import BATCH, portions, scheme_ids


def code_isa(isa: ISA | None) -> str:
    """The instruction set of machine code that belongs to a row; `DEFAULT` where the row names none."""
    return DEFAULT if isa is None else code_target(isa.name).name


def code_isa_row(isa: str = DEFAULT) -> ISA | None:
    """The row of an instruction set that machine code is of; None where it has not been loaded."""
    return ISA.objects.filter(name=isa).first()


def of_code(isa: str, prefix: str = "") -> Q:
    """Condition on rows whose `isa` has machine code of an instruction set, as `code_isa` says.

    `prefix`: to the rows with the column, such as `campaign__`.
    """
    if isa != DEFAULT:
        return Q(**{f"{prefix}isa__name": isa})
    alternatives = [name for name in FOLDERS if name != isa]
    return Q(**{f"{prefix}isa__isnull": True}) | ~Q(**{f"{prefix}isa__name__in": alternatives})


def of_isa(isa: str) -> Q:
    """Condition on rows whose `config` is of this instruction set; earlier releases mean `DEFAULT`."""
    named = Q(config__isa=isa)
    return named | Q(config__isa__isnull=True) if isa == DEFAULT else named


CORE = "core"
"""Key of an imported set's `making`, of an imported mapping's `report`, and of a file's machine's `facts`."""


def core_of(machine: Machine) -> Microarchitecture | None:
    """The documented core of a machine, None where unknown."""
    return code_target(machine.isa.name).schemes.core_of(machine.facts)


def core_name(row: Machine | ExperimentSet | PortMapping | ResourceMapping) -> str:
    """The core of a machine; of a set or mapping that of its machine, else as its import states; "" if
    unknown.
    """
    if isinstance(row, Machine):
        core = core_of(row)
        return str(row.facts.get(CORE, "")) if core is None else core.name
    if row.machine is not None:
        return core_name(row.machine)
    if isinstance(row, ExperimentSet):
        return str(row.making.get(CORE, ""))
    # Lists defer the report, which is large, and select this part of it.
    return str((row.stated_core if hasattr(row, "stated_core") else row.report.get(CORE)) or "")


NOT_IN_SOURCE = "the source no longer has this scheme"
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
    """Create or update an instruction set so that it has exactly these schemes.

    Rows are found by text and updated in place, so that references to them stay. Rows of other schemes are
    deleted where nothing refers to them, and excluded with the reason `NOT_IN_SOURCE` otherwise.
    """
    isa, _ = ISA.objects.update_or_create(name=name, defaults={"source": source})
    rows = [_row(isa, scheme) for scheme in schemes]
    InstructionScheme.objects.bulk_create(
        rows, batch_size=BATCH, update_conflicts=True, unique_fields=["isa", "text"], update_fields=_FIELDS
    )
    texts = {row.text for row in rows}
    removed = [row_id for text, row_id in scheme_ids(isa).items() if text not in texts]
    for ids in portions(removed, BATCH):
        batch = isa.schemes.filter(id__in=ids)
        batch.filter(terms=None, usages=None, resource_loads=None).delete()
        batch.update(exclusion=NOT_IN_SOURCE, starter=False)
    _update_statistics()
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
    """Load an instruction set that comes with the software: (row, whether it was created or updated).

    The check takes milliseconds, creating or updating some seconds.
    """
    catalogue = target_of(name).schemes
    isa = ISA.objects.filter(name=name).first()
    if isa is not None and isa.source.endswith(catalogue.version()):
        return isa, False
    return store_isa(name, catalogue.schemes(), catalogue.source()), True


SUPPLIED = {target.name: partial(load_supplied, target.name) for target in targets()}
"""{instruction set that comes with the software: function that loads it}."""


def loaded_isa_row(isa: str) -> ISA | None:
    """The row of an instruction set that machine code is of, loaded if needed; None stands for `DEFAULT`."""
    row = code_isa_row(isa)
    return SUPPLIED[isa]()[0] if row is None and isa != DEFAULT else row


BYTES_AT_ONCE = 2 * 2**20
"""Largest document that a request loads, thousands of schemes; the shell takes larger ones."""


def load_document(content: bytes) -> ISA:
    """Create or update an instruction set from a document. Raises `ExchangeError` for an invalid one."""
    try:
        document = read_instruction_set(content)
    except InstructionSetError as error:
        raise ExchangeError(f"no instruction set: {error}") from error
    if document.name in SUPPLIED:
        raise ExchangeError(f"{document.name} comes with this software: give the document another name")
    return store_isa(document.name, document.schemes, document.source)


@transaction.atomic
def new_isa(
    name: str, texts: Iterable[str], source: str, features: Mapping[str, Features] | None = None
) -> ISA:
    """Create an instruction set.

    Args:
        name: Name of the instruction set.
        texts: Its schemes.
        source: Where they are from, as a line of text.
        features: {scheme: operands, extensions and others}, of schemes for which they are known.

    Raises:
        NameInUseError: Another instruction set has the name.
    """
    check_name_free(ISA, name)
    isa = ISA.objects.create(name=name, source=source)
    add_schemes(isa, texts, features or {})
    return isa


def add_schemes(isa: ISA, texts: Iterable[str], features: Mapping[str, Features]) -> None:
    """Add schemes by text to an instruction set; `features` by text, where known."""
    InstructionScheme.objects.bulk_create(
        [_scheme(isa, text, features.get(text, _PLAIN)) for text in texts],
        batch_size=BATCH,
        ignore_conflicts=True,
    )
    _update_statistics()


def _update_statistics() -> None:
    """Update the planner's statistics of schemes: SQLite does not by itself, assumes few schemes per
    instruction set, and reads all 17,000 to find a dozen by text. PostgreSQL does.
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
    """The names of an instruction set's schemes; cached per process until the schemes change."""
    # Texts are never updated and ids not used twice, so their number and the newest tell every change.
    state = (isa.created, isa.schemes.aggregate(count=Count("id"), newest=Max("id")))
    cached = _vocabularies.get(isa.pk)
    if cached is None or cached[0] != state:
        cached = _vocabularies[isa.pk] = (state, SchemeNames(scheme_ids(isa)))
    return cached[1]


class _WrittenNames:
    """Resolves a few names, most of which are scheme texts.

    The vocabulary, which takes a moment to build, is used only for other names.
    """

    def __init__(self, isa: ISA, written: Collection[str]) -> None:
        self._isa = isa
        self._exact = set(isa.schemes.filter(text__in=written).values_list("text", flat=True))

    def resolve(self, name: str) -> str | None:
        """The scheme's text, None for an unknown name."""
        return name if name in self._exact else vocabulary(self._isa).resolve(name)

    def nearest(self, name: str, n: int = 1) -> list[str]:
        """Up to n known texts that resemble the name."""
        return vocabulary(self._isa).nearest(name, n)


@dataclass(frozen=True)
class Suggestion:
    """An unknown name, a scheme near to it, and the text with the scheme in place of the name."""

    name: str
    nearest: str
    corrected: str


@dataclass(frozen=True)
class TypedExperiment:
    """An experiment, or the problems of its text."""

    experiment: Experiment | None = None
    problems: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()


def read_experiment(text: str, isa: ISA) -> TypedExperiment:
    """Parse an experiment that a user typed; names are resolved as in uploads. Returns problems, never
    raises.
    """
    problems = Problems()
    terms = parse_terms(text, FilePlace(problems))
    if terms is None:
        return TypedExperiment(problems=tuple(f"{entry.message}; {entry.right}" for entry in problems.listed))
    names = _WrittenNames(isa, [name for name, _ in terms])
    counts: dict[str, int] = {}
    unknown: list[str] = []
    suggestions: list[Suggestion] = []
    for name, count in terms:
        scheme = names.resolve(name)
        if scheme is None:
            unknown.append(name)
            suggestions += [
                Suggestion(name, near, text.replace(name, near)) for near in names.nearest(name, 3)
            ]
        else:
            counts[scheme] = counts.get(scheme, 0) + count
    if unknown:
        problem_texts = tuple(f"{isa.name} has no scheme {name!r}" for name in dict.fromkeys(unknown))
        return TypedExperiment(problems=problem_texts, suggestions=tuple(suggestions))
    return TypedExperiment(Experiment.of(counts))


def unknown_schemes(schemes: Iterable[str], isa: ISA) -> list[str]:
    """A message for every scheme that the instruction set lacks, with the nearest one."""
    listed = list(schemes)
    stored = set(isa.schemes.filter(text__in=listed).values_list("text", flat=True))
    unknown = [scheme for scheme in listed if scheme not in stored]
    if not unknown:
        return []
    texts = list(isa.schemes.values_list("text", flat=True))
    return [f"{isa.name} has no scheme {scheme!r}{_nearest(scheme, texts)}" for scheme in unknown]


def _nearest(scheme: str, texts: list[str]) -> str:
    mnemonic = scheme.partition(" ")[0]
    alike = [text for text in texts if text.partition(" ")[0] == mnemonic] or texts
    near = difflib.get_close_matches(scheme, alike, n=1, cutoff=0.4)
    return f"; did you mean {near[0]!r}?" if near else ""


def likely_isa(names: Iterable[str], facts: Mapping[str, object]) -> ISA | None:
    """The instruction set of a file: by its facts, else the one with most of its names; None without any.

    `facts`: of the file's document.
    """
    stated = facts.get("isa")
    if isinstance(stated, str):
        isa = ISA.objects.filter(name=stated).first()
        if isa is not None:
            return isa
    listed = list(names)
    best: tuple[int, ISA] | None = None
    for isa in ISA.objects.order_by("id"):
        known_names = vocabulary(isa)
        score = sum(known_names.resolve(name) is not None for name in listed)
        if score and (best is None or score > best[0]):
            best = (score, isa)
    return best[1] if best else None

"""What pages, API and shell read of latencies, in words and numbers; as a file; and machines that simulate
them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Aggregate, Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from inference.core.core_model.memory_reading import memory_times
from inference.core.core_model.model import MemoryTimes, RenamingConditions, StoreCurve
from inference.core.protocols import Json
from inference.formats.core_memory_json import renaming_and_stores_json
from inference.formats.exported import ExportedLatencies
from inference.formats.latencies_xml import write_latencies_xml
from inference.formats.mapping_json import write_mapping_json
from inference.formats.provenance import Provenance
from inference.formats.uops_info_usages import NAMES
from inference.isa.blocks import block_of_hex
from inference.isa.chains import MemoryCondition
from inference.models import InstructionScheme, LatencySet, Machine, PortMapping, SchemeLatencies
from inference.models.scheme_search import search_schemes
from inference.storage.instruction_sets import core_of
from inference.storage.names import free_name
from inference.storage.rows import load_mapping
from inference.web.paging import having_words

SET_COLUMNS = {"created": "id", "name": "name", "schemes": "scheme_count"}
SCHEME_COLUMNS = {"scheme": "scheme__text", "least": "least", "most": "most", "isolated": "isolated"}


CHAINS_PER_SCHEME = 7.9
"""Of the default set: what an estimate goes by."""

IDIOMS_PER_SCHEME = 3.4
"""More chains for idioms."""

_LINES = (MemoryCondition.LINES, MemoryCondition.LINES_TWICE)
_FLAT = 1.1
"""Times the cycles of stores over fewer lines, from which on a curve rises."""

_EXAMPLES = 6
_ABBREVIATIONS = {name: short for short, name in NAMES.items()}


def latency_sets(text: str = "") -> QuerySet[LatencySet]:
    """All sets with `scheme_count`, `pair_count` (the isolated ones) and `is_recorded`; those with a text."""
    rows = LatencySet.objects.select_related("isa", "machine").defer("readings")
    rows = rows.annotate(
        scheme_count=_of_schemes(Count("pk")),
        pair_count=_of_schemes(Sum("isolated")),
        is_recorded=Q(readings__isnull=False),
    )
    return rows.filter(having_words(text)) if text else rows


def _of_schemes(number: Aggregate) -> Coalesce:
    """A number over the schemes of each set, 0 where it has none: from an index, as their rows are wide."""
    found = SchemeLatencies.objects.filter(latency_set=OuterRef("pk")).order_by().values("latency_set")
    return Coalesce(Subquery(found.annotate(number=number).values("number"), IntegerField()), Value(0))


def latencies_of(row: LatencySet, q: str = "") -> QuerySet[SchemeLatencies]:
    """The schemes of a set that a search finds. Raises `SearchError`."""
    rows = row.schemes.select_related("scheme")
    if q:
        rows = rows.filter(scheme__in=search_schemes(row.isa.schemes.all(), q).values("pk"))
    return rows


def scheme_ids_of(row: LatencySet) -> list[int]:
    """The schemes that a set has."""
    return list(row.schemes.order_by("scheme_id").values_list("scheme_id", flat=True))


def instructions_of(chain: Json) -> list[str]:
    """A chain, or another code that is kept like one, line by line."""
    return chain.get("listing") or block_of_hex(chain["code"]).text.splitlines()


def idiom_counts(row: LatencySet) -> list[tuple[str, int]]:
    """(kind, schemes) of the idioms and false dependencies that a set has."""
    found = row.schemes.exclude(idioms=[]).values_list("idioms", flat=True)
    return Counter(kind for idioms in found for kind in {one["kind"] for one in idioms}).most_common()


def latencies_of_scheme(scheme: InstructionScheme) -> QuerySet[SchemeLatencies]:
    """What every set says of a scheme, the newest first; its chains only where somebody looks at them."""
    rows = scheme.latencies.select_related("latency_set", "latency_set__machine")
    return rows.defer("chains", "latency_set__readings", "latency_set__memory").order_by("-latency_set_id")


def memory_answer(row: LatencySet) -> Json:
    """`renaming`, `other_page` and `stores` as core models have them, absent where they were not measured.

    `words` say all of it.
    """
    times = memory_times(row.memory)
    return {**renaming_and_stores_json(times), "words": memory_sentences(times)}


def memory_sentences(times: MemoryTimes) -> list[str]:
    renaming = [] if times.renaming is None else list(_renaming_sentences(times.renaming))
    if times.other_page is not None:
        served = "is served from the store buffer" if times.serves_other_pages else "waits for the cache"
        renaming.append(f"A load of what was stored, by another page of the same memory, {served}.")
    return [*renaming, *(_store_sentence(bits, curve) for bits, curve in times.stores.items())]


def _renaming_sentences(found: RenamingConditions) -> Iterator[str]:
    if found.by_text:
        base = "also where that was written in between" if found.rewritten else "unwritten in between"
        other = "; another register that leads there does as well" if found.other_base else ""
        yield f"A stored value is there at once by the same register, {base}{other}."
        if found.stores_between is not None:
            yield f"More than {found.stores_between} other stores in between end that."
    for loads, forgotten in (("loads", found.forgotten_pairs), ("updates", found.forgotten_updates)):
        if forgotten is None:
            yield f"In a loop, other {loads} of stored values are learned, as many as were measured."
        elif forgotten > 1:
            yield f"In a loop, fewer than {forgotten} other {loads} of stored values are learned as well."
    if plain := found.forwarded.get((64, 64, 0, False)):
        yield f"Else a stored value takes {plain:.1f} cycles to its load."
    if found.update is not None:
        yield f"An update of what was stored takes {found.update:.1f} cycles then."
    if found.overtaken is not None:
        yield f"Two registers that update one place in turn take {found.overtaken:.1f} cycles each time."


def _store_sentence(bits: int, curve: StoreCurve) -> str:
    text = f"A store of {bits} bits takes {curve.alone:.2f} cycles on one line"
    before = curve.alone
    for lines, cycles in curve.in_turn[1:]:
        if cycles > _FLAT * before:
            text += f", {cycles:.2f} over {lines} or more"
            before = cycles
    return f"{text}."


def store_lines(memory: Sequence[Json]) -> dict[str, list[tuple[float, float]]]:
    """{what is stored how: [(lines in turn, cycles per store)]} of the rows of a set."""
    curves: Mapping[str, list[tuple[float, float]]] = defaultdict(list)
    for one in memory:
        if one.get("condition") in _LINES and one["cycles"] is not None:
            twice = ", two to each line" if one["condition"] == MemoryCondition.LINES_TWICE else ""
            curves[f"{one['stored']} bits{twice}"].append((one["number"], one["cycles"]))
    return {name: sorted(points) for name, points in curves.items()}


def renaming_rows(memory: Sequence[Json]) -> list[Json]:
    """The chains that show when memory is renamed."""
    return [one for one in memory if one.get("condition") and one["condition"] not in _LINES]


@dataclass(frozen=True, slots=True)
class BypassKind:
    """`beside`: cycles that two neighbours, this kind and each kind in turn, take beyond their latencies."""

    number: int
    schemes: int
    examples: tuple[str, ...]
    beside: tuple[float, ...]

    def as_json(self) -> Json:
        return {
            "kind": self.number,
            "schemes": self.schemes,
            "examples": list(self.examples),
            "beside": list(self.beside),
        }


def bypass_kinds(row: LatencySet) -> list[BypassKind]:
    """The kinds of a set, by number; none where no latency depends on its neighbours.

    The examples are the first schemes of each kind with mnemonics of their own.
    """
    schemes: dict[int, dict[str, str]] = defaultdict(dict)
    beside: dict[int, tuple[float, ...]] = {}
    listed = row.schemes.order_by("scheme__text").values_list("scheme__text", "pairs")
    for text, pairs in listed.iterator(chunk_size=500):
        for pair in (pair for pair in pairs if "kind" in pair):
            schemes[pair["kind"]][text] = text.partition(" ")[0]
            beside[pair["kind"]] = tuple(pair["beside"])
    return [
        BypassKind(number, len(schemes[number]), _examples(schemes[number]), beside[number])
        for number in sorted(schemes)
    ]


def _examples(mnemonics: dict[str, str]) -> tuple[str, ...]:
    first = {mnemonic: text for text, mnemonic in reversed(mnemonics.items())}
    return tuple(sorted(first.values())[:_EXAMPLES])


def neighbour_words(pair: Json) -> str:
    """What a pair depends on, in words; "" for one that does not."""
    words = []
    if "queued" in pair:
        words.append(f"{pair['queued']:.2f} while others are queued")
    if "kind" in pair:
        words.append(f"kind {pair['kind']}: {_excess_words(pair['beside'])}")
    return "; ".join(words)


def _excess_words(beside: Sequence[float]) -> str:
    longer = [f"{cycles:+.2f} beside kind {kind}" for kind, cycles in enumerate(beside) if cycles]
    return ", ".join(longer) or "as long beside any"


def simulated_machine_of(row: PortMapping, facts: Json) -> Machine:
    """The machine that behaves as a mapping says, with further facts: its noise, its seed.

    The same mapping with the same facts is the same machine.
    """
    document = write_mapping_json(load_mapping(row), name=row.name, isa=row.isa.name)
    known = {"mapping": document, **facts}
    for machine in Machine.objects.filter(kind=Machine.Kind.SIMULATED, isa=row.isa).order_by("pk"):
        if machine.facts == known:
            return machine
    name = free_name(Machine, f"{row.name}, simulated")
    return Machine.objects.create(name=name, kind=Machine.Kind.SIMULATED, isa=row.isa, facts=known)


def latencies_xml(row: LatencySet) -> str:
    """XML like uops.info's (one query).

    The architecture is called as uops.info calls the machine's, else by the name of the set.
    """
    known = core_of(row.machine)
    name = row.name if known is None else _ABBREVIATIONS.get(known.name, row.name)
    rows = row.schemes.select_related("scheme").defer("chains").order_by("scheme__text")
    schemes = [
        ExportedLatencies(
            each.scheme.text,
            each.scheme.mnemonic,
            each.scheme.extension,
            each.scheme.category,
            each.scheme.operands,
            each.pairs,
            each.idioms,
        )
        for each in rows
    ]
    facts = (
        ("latencies", row.name),
        ("machine", row.machine.name),
        ("processor", row.machine.cpu),
        ("values", row.start_values),
    )
    return write_latencies_xml(name, schemes, Provenance((*facts, ("note", row.note))))

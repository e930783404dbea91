"""Latencies as sentences, numbers and XML, for pages, API and shell; machines that simulate latencies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Aggregate, Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from inference.core.core_model.memory_reading import memory_times
from inference.core.core_model.model import MemoryTimes, RenamingConditions, StoreCurve
from inference.core.protocols import Json
from inference.formats.core_latencies_json import renaming_and_stores_json
from inference.formats.exports import ExportedLatencies
from inference.formats.mapping_json import write_mapping_json
from inference.formats.provenance import Provenance
from inference.formats.uops_info_digest import NAMES
from inference.formats.uops_info_xml_writing import write_latencies_xml
from inference.isa.blocks import block_of_hex
from inference.isa.chains import MemoryCondition
from inference.models import InstructionScheme, LatencySet, Machine, PortMapping, SchemeLatencies
from inference.models.scheme_search import search_schemes
from inference.storage.instruction_sets import core_name
from inference.storage.mappings import load_mapping
from inference.storage.names import free_name
from inference.web.paging import having_words

SET_COLUMNS = {"created": "id", "name": "name", "schemes": "scheme_count"}
SCHEME_COLUMNS = {"scheme": "scheme__text", "least": "least", "most": "most", "isolated": "isolated"}


CHAINS_PER_SCHEME = 7.9
"""Mean over the default set, for estimates."""

IDIOMS_PER_SCHEME = 3.4
"""Mean number of additional chains for idioms, for estimates."""

_LINES = (MemoryCondition.LINES, MemoryCondition.LINES_TWICE)
_RISE = 1.1
"""Factor between neighbouring points of a curve of stores from which it counts as rising."""

_EXAMPLES = 6
_ABBREVIATIONS = {name: short for short, name in NAMES.items()}


def latency_sets(text: str = "") -> QuerySet[LatencySet]:
    """Sets with `scheme_count`, `pair_count` (isolated pairs) and `is_recorded`, filtered by a text."""
    rows = LatencySet.objects.select_related("isa", "machine__isa").defer("readings")
    rows = rows.annotate(
        scheme_count=_scheme_aggregate(Count("pk")),
        pair_count=_scheme_aggregate(Sum("isolated")),
        is_recorded=Q(readings__isnull=False),
    )
    return rows.filter(having_words(text)) if text else rows


def _scheme_aggregate(number: Aggregate) -> Coalesce:
    """An aggregate over the schemes of each set, 0 if it has none. A subquery on an index, because the rows
    are wide.
    """
    schemes = SchemeLatencies.objects.filter(latency_set=OuterRef("pk")).order_by().values("latency_set")
    return Coalesce(Subquery(schemes.annotate(number=number).values("number"), IntegerField()), Value(0))


def latencies_of(row: LatencySet, q: str = "") -> QuerySet[SchemeLatencies]:
    """The schemes of a set that match a search. Raises `SearchError`."""
    rows = row.schemes.select_related("scheme")
    if q:
        rows = rows.filter(scheme__in=search_schemes(row.isa.schemes.all(), q).values("pk"))
    return rows


def scheme_ids_of(row: LatencySet) -> list[int]:
    return list(row.schemes.order_by("scheme_id").values_list("scheme_id", flat=True))


def instructions_of(chain: Json) -> list[str]:
    """The instructions of a chain, or of another code in the same form."""
    return chain.get("listing") or block_of_hex(chain["code"]).text.splitlines()


def idiom_counts(row: LatencySet) -> list[tuple[str, int]]:
    """(kind, number of schemes) of the set's idioms and false dependencies, most frequent first."""
    lists = row.schemes.exclude(idioms=[]).values_list("idioms", flat=True)
    return Counter(kind for idioms in lists for kind in {idiom["kind"] for idiom in idioms}).most_common()


def latencies_of_scheme(scheme: InstructionScheme) -> QuerySet[SchemeLatencies]:
    """The latencies of a scheme in every set, newest first, without their chains."""
    rows = scheme.latencies.select_related("latency_set", "latency_set__machine__isa")
    return rows.defer("chains", "latency_set__readings", "latency_set__memory").order_by("-latency_set_id")


def memory_answer(row: LatencySet) -> Json:
    """`renaming`, `other_page` and `stores` in the form of core models, absent if not measured; `words`:
    sentences.
    """
    times = memory_times(row.memory)
    return {**renaming_and_stores_json(times), "words": memory_sentences(times)}


def memory_sentences(times: MemoryTimes) -> list[str]:
    renaming = [] if times.renaming is None else list(_renaming_sentences(times.renaming))
    if times.other_page is not None:
        served = "is served from the store buffer" if times.serves_other_pages else "waits for the cache"
        renaming.append(f"A load of what was stored, by another page of the same memory, {served}.")
    return [*renaming, *(_store_sentence(bits, curve) for bits, curve in times.stores.items())]


def _renaming_sentences(facts: RenamingConditions) -> Iterator[str]:
    if facts.by_text:
        base = "also where that was written in between" if facts.rewritten else "unwritten in between"
        other = "; another register that leads there does as well" if facts.other_base else ""
        yield f"A stored value is there at once by the same register, {base}{other}."
        if not facts.computing:
            yield "An instruction that does more than load it has to wait."
        if facts.stores_between is not None:
            yield f"More than {facts.stores_between} other stores in between end that."
    for loads, forgotten in (("loads", facts.forgotten_pairs), ("updates", facts.forgotten_updates)):
        if forgotten is None:
            yield f"In a loop, other {loads} of stored values are learned, as many as were measured."
        elif forgotten > 1:
            yield f"In a loop, fewer than {forgotten} other {loads} of stored values are learned as well."
    if plain := facts.forwarded.get((64, 64, 0, False)):
        yield f"Else a stored value takes {plain:.1f} cycles to its load."
    if facts.update is not None:
        yield f"An update of what was stored takes {facts.update:.1f} cycles then."
    if facts.overtaken is not None:
        yield f"Two registers that update one place in turn take {facts.overtaken:.1f} cycles each time."


def _store_sentence(bits: int, curve: StoreCurve) -> str:
    text = f"A store of {bits} bits takes {curve.alone:.2f} cycles on one line"
    before = curve.alone
    for lines, cycles in curve.in_turn[1:]:
        if cycles > _RISE * before:
            text += f", {cycles:.2f} over {lines} or more"
            before = cycles
    return f"{text}."


def store_lines(memory: Sequence[Json]) -> dict[str, list[tuple[float, float]]]:
    """{width and pattern of stores: [(lines in turn, cycles per store)]}."""
    curves: Mapping[str, list[tuple[float, float]]] = defaultdict(list)
    for row in memory:
        if row.get("condition") in _LINES and row["cycles"] is not None:
            twice = ", two to each line" if row["condition"] == MemoryCondition.LINES_TWICE else ""
            curves[f"{row['stored']} bits{twice}"].append((row["number"], row["cycles"]))
    return {name: sorted(points) for name, points in curves.items()}


def renaming_rows(memory: Sequence[Json]) -> list[Json]:
    """The chains about conditions of memory renaming."""
    return [row for row in memory if row.get("condition") and row["condition"] not in _LINES]


@dataclass(frozen=True, slots=True)
class BypassKind:
    """A kind of schemes. `beside`: extra cycles of this kind next to each kind, beyond their latencies."""

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
    """The kinds of a set, by number; empty if no latency depends on neighbours.

    Examples are the first schemes of each kind with distinct mnemonics.
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


def neighbour_text(pair: Json) -> str:
    """How a pair's latency depends on neighbours, as text; "" if it does not."""
    words = []
    if "queued" in pair:
        words.append(f"{pair['queued']:.2f} while others are queued")
    if "kind" in pair:
        words.append(f"kind {pair['kind']}: {_excess_text(pair['beside'])}")
    return "; ".join(words)


def _excess_text(beside: Sequence[float]) -> str:
    longer = [f"{cycles:+.2f} beside kind {kind}" for kind, cycles in enumerate(beside) if cycles]
    return ", ".join(longer) or "as long beside any"


def simulated_machine_of(row: PortMapping, facts: Json) -> Machine:
    """The simulated machine of a mapping, with further facts such as noise and seed.

    Equal mappings with equal facts give the same machine.
    """
    document = write_mapping_json(load_mapping(row), name=row.name, isa=row.isa.name)
    machine_facts = {"mapping": document, **facts}
    for machine in Machine.objects.filter(kind=Machine.Kind.SIMULATED, isa=row.isa).order_by("pk"):
        if machine.facts == machine_facts:
            return machine
    name = free_name(Machine, f"{row.name}, simulated")
    return Machine.objects.create(name=name, kind=Machine.Kind.SIMULATED, isa=row.isa, facts=machine_facts)


def latencies_xml(row: LatencySet) -> str:
    """XML in uops.info's form (one query).

    The architecture has uops.info's name of the machine's core if there is one, else the set's name.
    """
    name = _ABBREVIATIONS.get(core_name(row.machine), row.name)
    rows = row.schemes.select_related("scheme").defer("chains").order_by("scheme__text")
    schemes = [
        ExportedLatencies(
            scheme.scheme.text,
            scheme.scheme.mnemonic,
            scheme.scheme.extension,
            scheme.scheme.category,
            scheme.scheme.operands,
            scheme.pairs,
            scheme.idioms,
        )
        for scheme in rows
    ]
    facts = (
        ("latencies", row.name),
        ("machine", row.machine.name),
        ("processor", row.machine.cpu),
        ("values", row.start_values),
    )
    return write_latencies_xml(name, schemes, Provenance((*facts, ("note", row.note))))

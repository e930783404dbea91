"""A search text as a question: an instruction with operands, a port, and the CPUs that it names.

"zen 5 imul r64 latency" asks for the card of `imul` on the machines with a Zen 5, "what runs on port 5" for
the schemes of a port. Words that only ask ("what", "latency") have no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from django.db.models.functions import Length
from django.urls import reverse
from django.utils.http import urlencode

from inference.features.library.gallery.query import recorded_cores
from inference.features.library.instruction.cpus import RECORDED, Cpu
from inference.features.library.instruction.query import card_of, instruction_named
from inference.features.library.instruction.request import InstructionRequest
from inference.isa.code.block import Block
from inference.isa.microarchitecture import TOOL_NAMES
from inference.isa.targets import DEFAULT, targets
from inference.models import ISA, Machine, PortMapping, StoredCoreModel
from inference.storage.core_models import port_labels
from inference.storage.instruction_sets import core_name

_ASKING = re.compile(
    r"an?|are|by|can|cycles|does|do|for|how|i|instructions?|is|it|latenc(?:y|ies)|long|many|much|of|on|ports?"
    r"|runs?|takes?|the|throughput|[uµ]ops?|use[ds]?|what|when|which|with",
    re.IGNORECASE,
)
"""Words that only ask. `and`, `in` and `or` are instructions."""
_OPERAND = re.compile(r"[A-Z]+\[\w+\]|cl|k|mm|st", re.IGNORECASE)
_PORT = re.compile(r"\bports?\s+([a-z/]*\d{1,2}[a-z]?)\b", re.IGNORECASE)
_PORT_LABEL = re.compile(r"[a-z/]{1,6}\d{1,2}", re.IGNORECASE)
_LISTED = re.compile(r"[A-Z]\w* ?\([\w, ]*\)", re.IGNORECASE)
"""uops.info's name as its table prints it: `ADD (R64, R64)`."""
_MAX_NAME_WORDS = 4
_MAX_CPUS = 8
_MAX_PORT_ANSWERS = 5
_MAX_NEAR = 4
_MIN_LIKENESS = 0.6
_DIVIDERS = re.compile(r"[\s,?]+")


@dataclass(frozen=True)
class SearchAnswer:
    text: str
    detail: str
    page: str


@dataclass(frozen=True)
class SearchQuestion:
    """The parts of a search text.

    Args:
        instruction: An instruction set and a mnemonic of it.
        scheme: The text of the one scheme that another tool's name means; "" otherwise.
        operands: The words that abbreviate operands, in order.
        names: Cores and machines that are named, in lower case without blanks.
        port: The name of a port; "" without.
        unknown: The words without a meaning here; the question is complete without these.
    """

    instruction: tuple[ISA, str] | None
    operands: tuple[str, ...]
    names: frozenset[str]
    port: str
    unknown: tuple[str, ...] = ()
    scheme: str = ""


def question_of(text: str) -> SearchQuestion:
    """The question in a search text; one without parts for other texts."""
    if _LISTED.fullmatch(text.strip()):
        words, names, port = [text.strip()], set[str](), ""
    else:
        match = _PORT.search(text)
        port = "" if match is None else match[1]
        words = [word for word in _DIVIDERS.split(text if match is None else _PORT.sub(" ", text)) if word]
        names, words = _split_names(words)
        words = [word for word in words if not _ASKING.fullmatch(word)]
    operands = tuple(word for word in words if _is_operand(word))
    remaining = [word for word in words if not _is_operand(word)]
    instruction = None
    if len(remaining) == 1:
        instruction = _instruction(remaining[0])
        if instruction is None and not port and _is_port_label(remaining[0]):
            port = remaining.pop()
    unknown = () if instruction is not None else tuple(remaining)
    scheme = "" if instruction is None or operands else _scheme_named(remaining[0])
    return SearchQuestion(instruction, operands, frozenset(names), port, unknown, scheme)


def answers_to(question: SearchQuestion) -> list[SearchAnswer]:
    """The pages that answer a question, the best first; none for a question without parts."""
    if question.unknown:
        return []
    if question.instruction is not None:
        return [_card_answer(*question.instruction, question)]
    if question.operands:
        return []
    if question.port:
        return list(_port_answers(question))[:_MAX_PORT_ANSWERS]
    return list(_core_answers(question.names))


def near_answers(question: SearchQuestion) -> list[SearchAnswer]:
    """Cards of instructions that a text with unknown words may mean: those named beside these words, else
    those that a single one begins or misspells.
    """
    words = question.unknown
    named = [instruction for word in words if (instruction := _instruction(word)) is not None]
    if not named and len(words) == 1 and words[0].isidentifier():
        isa = ISA.objects.filter(name=DEFAULT).first()
        named = (
            [] if isa is None else [(isa, mnemonic) for mnemonic in _near_mnemonics(isa, words[0].lower())]
        )
    complete = replace(question, unknown=())
    return [_card_answer(*instruction, complete) for instruction in dict.fromkeys(named)][:_MAX_NEAR]


def _near_mnemonics(isa: ISA, word: str) -> list[str]:
    """The shortest mnemonics that begin with a word, else those that resemble it."""
    mnemonics = isa.schemes.order_by().values_list("mnemonic", flat=True).distinct()
    begun = mnemonics.filter(mnemonic__startswith=word).order_by(Length("mnemonic"), "mnemonic")
    return list(begun[:_MAX_NEAR]) or get_close_matches(word, list(mnemonics), _MAX_NEAR, _MIN_LIKENESS)


def card_answers(blocks: Sequence[Block]) -> list[SearchAnswer]:
    """The card of the instruction, where code is a single one."""
    if len(blocks) != 1 or len(blocks[0].instructions) != 1:
        return []
    scheme = blocks[0].instructions[0].scheme
    instruction = None if scheme is None else instruction_named(scheme.partition(" ")[0])
    question = SearchQuestion(instruction, (), frozenset(), "", scheme=scheme or "")
    return [] if instruction is None else [_card_answer(*instruction, question)]


def _card_answer(isa: ISA, mnemonic: str, question: SearchQuestion) -> SearchAnswer:
    forms = " ".join(question.operands)
    query = {"forms": forms} if forms else {}
    detail = "ports, cycles and latency"
    if question.names:
        card = card_of(InstructionRequest(mnemonic=mnemonic, isa=isa.name))
        cpus = [cpu for cpu in (*card.cpus, *card.further) if _names_of(cpu) & question.names][:_MAX_CPUS]
        if cpus:
            query["cpus"] = ",".join(cpu.key for cpu in cpus)
            detail += f" on {', '.join(cpu.core or cpu.name for cpu in cpus)}"
        else:
            detail += "; nothing is known of it on the CPU that you named"
    page = reverse("instruction", args=[isa.name, mnemonic])
    address = f"{page}?{urlencode(query)}" if query else page
    row = isa.schemes.filter(text=question.scheme).first() if question.scheme else None
    if row is not None:
        return SearchAnswer(row.text, detail, f"{address}#scheme-{row.pk}")
    return SearchAnswer(" ".join([mnemonic, *question.operands]), detail, address)


def _port_answers(question: SearchQuestion) -> Iterator[SearchAnswer]:
    """The schemes on a port, by core models and recorded cores; of all where none is named."""
    for row in _core_models(question.names):
        port = _port_of(row, question.port)
        if port and row.mapping is not None:
            query = urlencode({"tab": "schemes", "port": port})
            yield SearchAnswer(
                f"Schemes on port {question.port} of {_core_name(row)}",
                row.mapping.name,
                f"{reverse('mapping', args=[row.mapping.pk])}?{query}",
            )
    isa = ISA.objects.filter(name=DEFAULT).first()
    for core in recorded_cores():
        is_named = not question.names or question.names & {_fold_name(core.core), _fold_name(core.name)}
        if (
            isa is not None
            and is_named
            and core.isa == isa.name
            and (port := _port_of(core.row, question.port))
        ):
            query = urlencode({"cpus": f"{RECORDED}{core.slug}", "port": port})
            page = f"{reverse('isa', args=[isa.pk])}?{query}"
            yield SearchAnswer(f"Schemes on port {question.port} of {core.label}", core.name, page)


def _port_of(row: StoredCoreModel, name: str) -> str:
    """The port of a core model with this name or label, in any case; "" where there is none."""
    labels = port_labels(row)
    by_name = {port.lower(): port for port in labels} | {
        label.lower(): port for port, label in labels.items()
    }
    return by_name.get(name.lower(), "")


def _is_port_label(word: str) -> bool:
    """Whether a word such as `ALU2` is the label of a port of any core."""
    if not _PORT_LABEL.fullmatch(word):
        return False
    rows = [*_core_models(frozenset()), *(core.row for core in recorded_cores())]
    return any(_port_of(row, word) for row in rows)


def _core_answers(names: frozenset[str]) -> Iterator[SearchAnswer]:
    for row in _core_models(names) if names else ():
        yield SearchAnswer(_core_name(row), f"core model {row.name}", reverse("core-model", args=[row.pk]))


def _core_models(names: frozenset[str]) -> list[StoredCoreModel]:
    """The newest core model of each machine that is named, or of all machines."""
    rows = StoredCoreModel.objects.select_related("machine__isa", "mapping").defer("document")
    newest: dict[int | str, StoredCoreModel] = {}
    for row in rows.order_by("-pk"):
        if not names or names & {
            _fold_name(row.name),
            _fold_name(_core_name(row)),
            *_machine_names(row.machine),
        }:
            newest.setdefault(row.machine_id or row.name, row)
    return list(newest.values())


def _core_name(row: StoredCoreModel) -> str:
    return (row.machine and core_name(row.machine)) or row.name


def _names_of(cpu: Cpu) -> set[str]:
    return {_fold_name(cpu.name), _fold_name(cpu.core), *_machine_names(cpu.machine)}


def _machine_names(machine: Machine | None) -> set[str]:
    if machine is None:
        return set()
    return {_fold_name(name) for name in (machine.name, core_name(machine)) if name}


def _split_names(words: Sequence[str]) -> tuple[set[str], list[str]]:
    """The named cores, machines and imported mappings, and the remaining words; longest names first."""
    tool_names = {_fold_name(name) for name in TOOL_NAMES}
    for machine in Machine.objects.only("name"):
        tool_names.add(_fold_name(machine.name))
    imported = PortMapping.objects.filter(origin=PortMapping.Origin.IMPORT)
    tool_names.update(_fold_name(name) for name in imported.values_list("name", flat=True))
    names: set[str] = set()
    remaining: list[str] = []
    place = 0
    while place < len(words):
        for count in range(min(_MAX_NAME_WORDS, len(words) - place), 0, -1):
            name = _fold_name("".join(words[place : place + count]))
            if name in tool_names:
                names.add(name)
                place += count
                break
        else:
            remaining.append(words[place])
            place += 1
    return names, remaining


def _fold_name(name: str) -> str:
    """A name in lower case without blanks and signs: `zen4` for "Zen 4"."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _instruction(word: str) -> tuple[ISA, str] | None:
    """The instruction of a mnemonic in any tool's spelling, or of a scheme's name in another tool."""
    instruction = instruction_named(word)
    if instruction is None:
        mnemonics = (name for target in targets() for name in sorted(target.names.mnemonics_named(word)))
        instruction = next(filter(None, map(instruction_named, mnemonics)), None)
    return instruction


def _scheme_named(word: str) -> str:
    """The scheme that a name of another tool means, "" where it means several or a mnemonic."""
    meanings = [target.names.meaning_of(word) for target in targets()]
    texts = {text for meaning in meanings for text in meaning.texts if not text.startswith("{evex}")}
    return next(iter(texts)) if len(texts) == 1 else ""


def _is_operand(word: str) -> bool:
    """Whether a word abbreviates an operand, or is one of a scheme, such as `GPR[64]`."""
    return _OPERAND.fullmatch(word) is not None or any(
        target.names.meaning_of(word).operands for target in targets()
    )

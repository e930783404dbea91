"""True properties of a core by a seed, for the schemes of any instruction set.

Schemes whose units have one class (`inference.isa.domains`) run on the same ports and take equally long;
each scheme may have a µop more, or a source that is needed later than the others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.model import CoreModel, CoreScheduler, MemoryTimes, OperandLatencies
from inference.core.mapping import PortMapping, uops_of
from inference.core.simulation.program import Binding, IssueOrder, SchedulerPolicy
from inference.isa.bodies import chain_maker
from inference.isa.chains import SAME_REGISTER, ChainLink
from inference.isa.domains import UNIT_CLASSES, UNIT_GROUPS, unit_class
from inference.isa.front_end import Aspect
from inference.isa.scheme import Scheme, is_in_bodies
from inference.isa.target import IsaTarget
from inference.isa.targets import target_of
from inference.measuring.simulated_core.core import SimulatedCore

_WRITTEN_BASE = "base"
_ADDRESS = ("address", "base", "index")
_QUICK = frozenset(
    {"ALU", "move", "address", "flags", "conditional", "branch", "vector logic", "vector move"}
)
"""Classes of one cycle on nearly all cores."""

_SLOW = frozenset({"FP divide", "divide"})
_SECOND_UOP_SHARE = 0.05  # of the schemes
_LATE_SOURCE_SHARE = 0.1
"""Share of the schemes with a source that is needed a cycle or two later, such as an accumulator."""


def sampled_core(isa: str, seed: int, *, in_order: bool = False) -> SimulatedCore:
    """A core with random properties within the range of real ones; equal seeds give equal cores.

    `in_order`: a narrow one that issues in program order, and has no idioms.
    """
    sampler = _InOrderSampler if in_order else _Sampler
    return SimulatedCore(isa, sampler(target_of(isa), seed).model(), f"core {seed}")


class _Sampler:
    _units = ((3, 6), (2, 4), (1, 3), (1, 2))
    """The range of the numbers of ALUs, vector units, loads and stores."""

    def __init__(self, target: IsaTarget, seed: int) -> None:
        self._target = target
        self._name = f"core {target.name} {seed}"
        dice = self._dice = random.Random(self._name)  # noqa: S311  not for secrets
        alus, vectors, self._loads, self._stores = (dice.randint(*units) for units in self._units)
        first_load = alus + vectors
        self._groups: Mapping[str, Sequence[int]] = {
            "ALU": range(alus),
            "FP": range(alus, first_load),
            "LD": range(first_load, first_load + self._loads),
            "ST": range(first_load + self._loads, first_load + self._loads + self._stores),
        }
        self._ports = first_load + self._loads + self._stores
        self._width = self._sampled_width(alus)
        self._masks = {kind: self._mask(kind) for kind in UNIT_CLASSES}
        self._cycles = {kind: self._sampled_latency(kind) for kind in UNIT_CLASSES}
        self._load = dice.randint(3, 6)

    def _sampled_width(self, alus: int) -> int:
        return self._dice.randint(max(3, alus - 1), 8)

    def model(self) -> CoreModel:
        schemes = [
            scheme
            for scheme in self._target.schemes.schemes()
            if is_in_bodies(scheme) or scheme.category == _NOP
        ]
        moves = frozenset(scheme.text for scheme in schemes if self._is_eliminated(scheme))
        usage = {
            scheme.text: () if scheme.text in moves else uops_of(self._uops(scheme)) for scheme in schemes
        }
        mapping = PortMapping(tuple(map(str, range(self._ports))), usage, issue_width=float(self._width))
        free = frozenset(scheme.text for scheme in schemes if self._is_free(scheme.text))
        return CoreModel(
            mapping,
            {scheme.text: self._latencies(scheme) for scheme in schemes},
            free=free,
            portless=frozenset(text for text in free if self._is_portless(text)),
            moves=moves,
            memory=self._memory(),
            front_end=self._front_end(),
            scheduler=CoreScheduler(self._policy(), self._width, (1 << self._ports) - 1),
            sources={"all": f"sampled by the seed of {self._name}"},
        )

    def _of(self, *names: str) -> random.Random:
        return random.Random(" ".join((self._name, *names)))  # noqa: S311  not for secrets

    def _group(self, kind: str) -> str:
        if kind == "int ↔ vector":
            return "FP"
        group = UNIT_GROUPS.get(kind, "FP" if kind.startswith("vector") else "ALU")
        return group if group in self._groups else "ALU"

    def _mask(self, kind: str) -> int:
        ports = self._groups[self._group(kind)]
        is_wide = kind in _QUICK or self._group(kind) in ("LD", "ST")
        subset = ports if is_wide else self._dice.sample(ports, self._dice.randint(1, len(ports)))
        return sum(1 << port for port in subset)

    def _sampled_latency(self, kind: str) -> int:
        if kind in _SLOW:
            return self._dice.randint(9, 18)
        if kind in _QUICK:
            return 1
        return self._dice.randint(1, 3) if self._group(kind) == "ALU" else self._dice.randint(2, 5)

    def _kind(self, scheme: Scheme) -> str:
        """The class of the units that compute; "" where it only loads or stores."""
        memory = "" if scheme.memory in ("", "A") else scheme.memory
        if unit_class(scheme.text, scheme.mnemonic, scheme.category, memory) in _MEMORY_CLASSES:
            return ""
        return unit_class(scheme.text, scheme.mnemonic, scheme.category, "") or "ALU"

    def _uops(self, scheme: Scheme) -> Iterator[tuple[int, int]]:
        kind = self._kind(scheme)
        if kind and scheme.category != _NOP:
            count = 1 + (self._of(scheme.text, "µops").random() < _SECOND_UOP_SHARE)
            yield self._masks[kind], count + 3 * (scheme.category in ("divide", "square-root"))
        if any(operand.name == _WRITTEN_BASE for operand in scheme.operands):
            yield self._masks["ALU"], 1
        if "R" in scheme.memory:
            yield self._masks["load"], 1
        if "W" in scheme.memory:
            yield self._masks["store"], 1

    def _latencies(self, scheme: Scheme) -> OperandLatencies:
        kind = self._kind(scheme)
        kind_cycles = self._cycles[kind] if kind else 0
        if scheme.category in ("divide", "square-root"):
            kind_cycles = max(kind_cycles, self._cycles["FP divide"])
        dice = self._of(scheme.text, "latency")
        links = chain_maker(self._target.name).links_of(scheme.text)
        plain = sorted({link.source for link in links if _is_plain(link)})
        late = dice.choice(plain) if len(plain) > 1 and dice.random() < _LATE_SOURCE_SHARE else ""
        less = min(dice.randint(1, 2), max(kind_cycles - 1, 0))
        latencies: dict[tuple[str, str], float | None] = {}
        for link in links:
            if link.source.endswith("data") or link.destination.endswith("data"):
                continue  # forwarding says how long these take
            if link.source.endswith(_ADDRESS) and link.destination != _WRITTEN_BASE and "R" in scheme.memory:
                cycles = kind_cycles + self._load
            elif link.source.endswith(_ADDRESS):
                cycles = 1
            else:
                cycles = max(kind_cycles, 1) - (less if link.source == late else 0)
            latencies[link.source, link.destination] = float(cycles)
        return latencies

    def _is_eliminated(self, scheme: Scheme) -> bool:
        """Whether renaming does it: plain moves between registers of one kind, on some cores."""
        explicit = [operand for operand in scheme.operands if not operand.implicit]
        if scheme.category != "move" or scheme.memory or len(explicit) != len(scheme.operands):
            return False
        if [operand.access for operand in explicit] != ["W", "R"] or explicit[0].width < _MIN_MOVED_BITS:
            return False
        is_copy = explicit[0].name == explicit[1].name and explicit[0].kind == explicit[1].kind == "register"
        return is_copy and self._of("moves", explicit[0].name).random() < 0.5

    def _is_free(self, text: str) -> bool:
        """Whether a scheme of two sources waits for nothing where both are one register.

        Connectors never do: in chains some have equal sources, which they pass on.
        """
        maker = chain_maker(self._target.name)
        if text in {link.scheme for link in maker.connectors()}:
            return False
        sources = {link.source for link in maker.links_of(text) if _is_plain(link)}
        may_be = any(idiom.pair.link.source == SAME_REGISTER for idiom in maker.idioms_of(text))
        return (
            may_be and len(sources) > 1 and self._of("free", text.partition(" ")[0]).random() < _IDIOM_SHARE
        )

    def _is_portless(self, text: str) -> bool:
        return self._of("portless", text.partition(" ")[0]).random() < _IDIOM_SHARE

    def _memory(self) -> MemoryTimes:
        dice = self._of("memory")
        forwarding = self._load + dice.randint(1, 5)
        failing = forwarding + dice.randint(5, 10)
        vector = forwarding + dice.randint(0, 3)
        forwarded = {(64, 64, 0, False): float(forwarding), (32, 64, 0, False): float(failing)}
        forwarded |= {(128, 128, 0, True): float(vector), (64, 128, 0, True): float(failing)}
        return MemoryTimes(forwarded, usual=float(forwarding), load=float(self._load))

    def _front_end(self) -> FrontEndLimits:
        dice = self._of("front end")
        maker = self._target.front_end
        codes = () if maker is None else maker.front_end_codes(offsets=False)
        pairs = sorted({code.name for code in codes if code.aspect is Aspect.FUSION})
        fusing = {
            name.partition(" ")[0] for name in pairs if self._of("fuses", name.split()[0]).random() < 0.6
        }
        return FrontEndLimits(
            slots=float(self._width),
            straight_instructions=float(dice.randint(min(3, self._width), min(4, self._width))),
            straight_bytes=float(dice.choice((16, 32))),
            loop_capacity=float(dice.choice((1024, 1536, 2048, 4096))),
            taken=dice.choice((0.5, 1.0)),
            nops=float(self._width),
            fused=frozenset(name for name in pairs if name.partition(" ")[0] in fusing),
        )

    def _policy(self) -> SchedulerPolicy:
        dice = self._of("scheduler")
        binding = dice.choice((Binding.AT_ISSUE, Binding.LEAST_LOADED))
        return SchedulerPolicy(binding, queue=dice.choice((12, 16, 24)), queued=96, window=256)


class _InOrderSampler(_Sampler):
    _units = ((1, 2), (1, 2), (1, 1), (1, 1))

    def _sampled_width(self, alus: int) -> int:
        return self._dice.randint(alus, alus + 1)

    def model(self) -> CoreModel:
        issue = IssueOrder(in_order=True, completes_in_order=self._dice.random() < 0.5)
        return replace(super().model(), scheduler=None, issue=issue)

    def _is_eliminated(self, scheme: Scheme) -> bool:
        return False

    def _is_free(self, text: str) -> bool:
        return False


_NOP = "nop"
_IDIOM_SHARE = 0.5  # of the mnemonics that may be idioms
_MEMORY_CLASSES = frozenset({"load", "vector load", "store", "vector store"})
_MIN_MOVED_BITS = 32


def _is_plain(link: ChainLink) -> bool:
    return link.source.isdecimal() and link.destination.isdecimal()

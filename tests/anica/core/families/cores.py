"""A small core that is known in full: ports, width and latencies, with whatever is planted in it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from iced_x86 import Decoder, InstructionInfoFactory, OpAccess, Register, RegisterExt

from inference.predictors.protocol import Answer

_INFO = InstructionInfoFactory()
_READS = (OpAccess.READ, OpAccess.READ_WRITE, OpAccess.COND_READ, OpAccess.READ_COND_WRITE)
_WRITES = (OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE)


@dataclass
class PlantedCore:
    """Answers the steady state of a block: the largest of width, one port per mnemonic, and dependencies.

    `latency` and `busy` are cycles by mnemonic, 1 without an entry. `forwarding`: cycles from a store to a
    load of the same place, None where these do not wait. `may_alias`: all places are taken for the same, and
    stores wait for whatever accesses memory before them. `false`: mnemonics that wait for their result.
    `loading`: cycles that an instruction with a load takes more from whatever it waits for.
    """

    name: str = "core"
    width: float = 4.0
    latency: dict = field(default_factory=dict)
    busy: dict = field(default_factory=dict)
    forwarding: float | None = None
    may_alias: bool = False
    false: frozenset = frozenset()
    loading: float = 0.0
    asked: int = 0

    @property
    def identity(self):
        return {"kind": "planted", "name": self.name}

    def predict(self, blocks):
        self.asked += len(blocks)
        return [Answer(cycles=round(self.cycles(code), 6)) for code in blocks]

    def close(self):
        pass

    def cycles(self, code):
        block = list(Decoder(64, code))
        busy = defaultdict(float)
        for one in block:
            busy[name_of(one)] += self.busy.get(name_of(one), 0.25)
        return max(len(block) / self.width, *busy.values(), self._dependencies(block))

    def waiting(self, code):
        """Cycles per iteration that dependencies alone take."""
        return self._dependencies(list(Decoder(64, code)))

    def _dependencies(self, block, rounds=12):
        """Cycles per iteration at which the last results come, with nothing else in the way."""
        ready = defaultdict(float)
        ends = []
        for _ in range(rounds):
            for one in block:
                self._execute(one, ready)
            ends.append(max(ready.values(), default=0.0))
        return (ends[-1] - ends[rounds // 2 - 1]) / (rounds - rounds // 2)

    def _execute(self, one, ready):
        info = _INFO.info(one)
        reads, writes, loads, stores = set(), set(), set(), set()
        for used in info.used_registers():
            full = RegisterExt.full_register(used.register)
            reads |= {full} if used.access in (*_READS, OpAccess.COND_WRITE) else set()
            writes |= {full} if used.access in _WRITES and full != Register.RSP else set()
        for memory in info.used_memory():
            place = "any" if self.may_alias else (memory.base, memory.displacement)
            loads |= {place} if memory.access in _READS else set()
            stores |= {place} if memory.access in _WRITES else set()
        latency = self.latency.get(name_of(one), 1.0) + (self.loading if loads else 0.0)
        reads |= {"flags"} if one.rflags_read else set()
        reads |= writes if name_of(one) in self.false else set()
        writes |= {"flags"} if one.rflags_modified else set()
        if self.forwarding is None:
            loads = stores = set()
        reads |= {"loads", "stores"} if self.may_alias and stores else set()
        start = max((ready[each] for each in reads | loads), default=0.0)
        done = start + latency
        for each in writes:
            ready[each] = done
        if loads:
            ready["loads"] = done
        for place in stores:
            ready[place] = done + (self.forwarding or 0.0)
            ready["stores"] = done


def name_of(one):
    """Its mnemonic as the decoder has it."""
    return str(one).split()[0]

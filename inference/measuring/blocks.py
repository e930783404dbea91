"""Basic blocks on a machine: a block and options become an item and its frame, results are in cycles.

In contrast to experiments (`remote`), a block is measured as it is, dependencies included. Its surroundings
(`BlockOptions`) are part of the identity of each result.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inference.agent.protocol import BatchItem, Frame, Result, Settings
from inference.core.errors import InvalidInputError, as_written
from inference.core.protocols import BatchBoard, Json
from inference.core.tunables import values_of
from inference.isa.blocks import (
    Block,
    block_of_bytes,
    filled_fpu,
    general_registers,
    iteration_of,
    mask_bits,
    needs_avx,
    stores_of,
    walk_end,
)
from inference.isa.bodies import front_end_maker
from inference.isa.code.block import MAX_COPIES_BYTES, BlockError, default_copies
from inference.isa.front_end import CodeReading, TimedCode
from inference.isa.start_values import START, StartValues
from inference.isa.targets import DEFAULT, target_of
from inference.measuring.items import ItemMeasurer
from inference.measuring.remote import CONTENTION_TIMEOUT

UNROLLED, LOOP = "unrolled", "loop"
MODES = (UNROLLED, LOOP)
MAX_COPIES = 2000  # of a block in a loop
MAX_PAGES = 4096  # of memory that a block may touch


@dataclass(frozen=True)
class BlockOptions:
    """The surroundings of a measured block.

    Args:
        mode: "unrolled": copies without a loop after registers and memory were initialised, timed as the
            difference of two lengths; or "loop": copies in a loop that continues with the values it has.
        copies: Copies of the block in the longer code; 0 for as many as make about 1600 instructions (100
            in a loop) and, unrolled, 512 stores.
        registers: 64-bit value that general-purpose registers start with.
        memory: 64-bit value that every eight bytes of memory start with.
        pages: Pages of memory that the block may touch, at least one per copy.
    """

    mode: str = UNROLLED
    copies: int = 0
    registers: int = START
    memory: int = START
    pages: int = 2000

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> BlockOptions:
        """The options of {name: value or its text}. Raises `InvalidInputError`."""
        options = cls(**values_of(cls, values, "a run over blocks"))
        for name, problem in options.problems().items():
            raise InvalidInputError(f"{name} {problem}")
        return options

    def as_json(self) -> Json:
        return dict(vars(self))

    @property
    def start(self) -> StartValues:
        """The values that blocks of the default instruction set start with unless others are given."""
        return self.start_of(DEFAULT)

    def start_of(self, isa: str) -> StartValues:
        return StartValues(dict.fromkeys(general_registers(isa), self.registers), Frame.vector, self.memory)

    def problems(self) -> dict[str, str]:
        """{field: what is wrong with it, and what would be right}."""
        limits = {
            "copies": (0, MAX_COPIES),
            "registers": (0, 2**64 - 1),
            "memory": (0, 2**64 - 1),
            "pages": (1, MAX_PAGES),
        }
        problems = (
            {}
            if self.mode in MODES
            else {"mode": f"must be one of {', '.join(MODES)}, not {as_written(self.mode)}"}
        )
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                problems[name] = f"must be a whole number from {low:,} to {high:,}, not {as_written(value)}"
        if self.mode == UNROLLED and self.copies == 1:
            problems["copies"] = "must be at least 2 where the difference of two lengths counts, or 0"
        return problems


def obstacle(block: Block, options: BlockOptions, flags: Collection[str] | None) -> str:
    """Why a block cannot be measured; "" where it can.

    Args:
        block: The block.
        options: The harness; its number of copies limits the size of the block.
        flags: Features of the CPU by their names in /proc/cpuinfo; None if unknown, which excludes nothing.
    """
    if reason := block.obstacle():
        return reason
    catalogue = target_of(block.isa).schemes
    for instruction in block.instructions:
        scheme = catalogue.scheme_of(instruction.scheme) if instruction.scheme else None
        if flags is not None and scheme is not None and (reason := catalogue.missing_feature(scheme, flags)):
            return f"{instruction.text}: {reason}"
    length = len(iteration_of(block).code) * max(options.copies, 2)
    if length > MAX_COPIES_BYTES:
        return (
            f"{max(options.copies, 2)} copies of it have {length:,} bytes; {MAX_COPIES_BYTES:,} is the limit"
        )
    return ""


def free_registers(block: Block) -> list[str]:
    """The registers that neither the block nor the end of its loop uses, in order of preference.

    rax is none of them: agents set it to 0, for the flags, after the counter has got its value.
    """
    used = {"rax", *iteration_of(block).registers}
    return [name for name in block.unused_registers if name not in used]


def shared_counters(blocks: Sequence[Block]) -> list[str]:
    """For each block a register that counts its iterations, the same for as many as possible; "" for none.

    Blocks with the same frame are measured in one batch; a batch for each register would take longer to hand
    over than to measure.
    """
    free = [free_registers(block) for block in blocks]
    counters = [""] * len(blocks)
    remaining = {number for number, names in enumerate(free) if names}
    while remaining:
        counts = Counter(name for number in sorted(remaining) for name in free[number])
        name, _ = counts.most_common(1)[0]
        sharing = {number for number in remaining if name in free[number]}
        remaining -= sharing
        for number in sharing:
            counters[number] = name
    return counters


def item_for(
    block: Block,
    options: BlockOptions,
    flags: Collection[str] | None,
    *,
    wide: bool = True,
    counter: str | None = None,
    start: StartValues | None = None,
    offset: int = 0,
    leads_back: bool = True,
) -> tuple[Frame, BatchItem]:
    """The frame and the item that an agent is sent for a block that has no `obstacle`.

    Args:
        block: To measure.
        options: Its surroundings.
        flags: Flags of the CPU, None where they are unknown.
        wide: Whether the agent fills masks and vectors of 512 bits.
        counter: The register that counts the iterations of a loop, of those that are free; None chooses one.
        start: Other start values than those of the options.
        offset: Bytes between the beginning of a cache line and the first copy, 0 to 63.
        leads_back: Whether the agent knows code behind the copies.
    """
    start = start or options.start_of(block.isa)
    body = iteration_of(block)
    unrolled = options.mode == UNROLLED
    instructions = len(block.instructions) + body.jumps
    if counter is None:
        (counter,) = shared_counters([block])
    masks = mask_bits(block, flags) if wide else 0
    frame = Frame(
        isa=block.isa,
        memory_register="",
        counter_register="" if unrolled else counter,
        registers={**start.registers, **body.registers},
        vector=start.vector,
        memory=start.memory,
        avx=needs_avx(block, flags),
        mask_bits=masks,
        fpu=filled_fpu(block),
        pages=options.pages,
        unrolled=unrolled,
        offset=offset,
        clear_masks=bool(masks) and not start.masks,
    )
    stores = sum(map(stores_of, block.instructions))
    copies = options.copies or default_copies(
        instructions, len(body.code), in_loop=not unrolled, stores=stores, loop=bool(body.jumps)
    )
    item = _item(frame, block.hex, body.code, instructions, copies, block.terms)
    return frame, _leading_back(item, frame, block) if leads_back and not unrolled else item


def _leading_back(item: BatchItem, frame: Frame, block: Block) -> BatchItem:
    """The item with code behind its copies that keeps the block's accesses within the first-level cache."""
    end = walk_end(block, item.copies, frame.registers)
    return replace(item, end=end, id=f"{item.id} b") if end else item


def item_for_code(
    code: TimedCode, flags: Collection[str] | None, isa: str = DEFAULT, *, leads_back: bool = True
) -> tuple[Frame, BatchItem]:
    """The frame and the item of code made by this project; `leads_back`: as in `item_for`."""
    frame = Frame(
        isa=isa,
        memory_register="",
        counter_register=front_end_maker(isa).COUNTER if code.loop else "",
        registers={**dict.fromkeys(general_registers(isa), START), **dict(code.registers)},
        memory=START,
        avx=flags is None or "avx" in flags,
        pages=BlockOptions.pages,
        unrolled=not code.loop,
        offset=code.offset,
    )
    copies = code.copies or default_copies(code.instructions, len(code.code), in_loop=code.loop)
    item = _item(frame, code.code.hex(), code.code, code.instructions, copies)
    if not leads_back or not code.loop:
        return frame, item
    try:
        return frame, _leading_back(item, frame, block_of_bytes(code.code, isa))
    except BlockError:  # code with jumps, or longer than a block: none of it walks through memory
        return frame, item


def _item(
    frame: Frame,
    digits: str,
    code: bytes,
    instructions: int,
    copies: int,
    terms: tuple[tuple[str, int], ...] = (),
) -> BatchItem:
    """Copies of a code as an item, whose id depends on the code and on its surroundings."""
    half = max(copies // 2, 1)
    # Not by the register that counts, which depends on what else is measured at the same time.
    surroundings = sorted(replace(frame, counter_register="").as_json().items())
    description = f"{digits} {surroundings} {copies}"
    return BatchItem(
        id=hashlib.blake2b(description.encode(), digest_size=12).hexdigest(),
        code=code * copies,
        copies=copies,
        half_bytes=len(code) * half,
        half_copies=half,
        instructions=instructions,
        terms=terms,
    )


class BlockMeasurer:
    """Measures blocks on the machine of a board.

    Contended results are posted again until the computer has been disturbed for `contention_timeout` seconds,
    unsettled ones after all others, twice. Results that came for an earlier attempt of the run are used.

    Args:
        board: Posts batches to the machine.
        identity: Identity of the machine and its harness.
        flags: Flags of the CPU, None where every block may be tried.
        settings: Settings of the agent.
        options: Surroundings of the blocks.
        wide: As in `item_for`.
        x87: Whether the agent fills registers of x87 and MMX.
        clears_masks: Whether it can start with masks of zeros.
        shares: Whether it times latency-bound code while others use the core.
        isa: Instruction set of the codes of `time`; blocks have their own.
        leads_back: As in `item_for`.
        contention_timeout: Seconds.
        clock: Seconds that never go backwards.
    """

    def __init__(
        self,
        board: BatchBoard,
        identity: Json,
        flags: Collection[str] | None,
        settings: Settings,
        options: BlockOptions,
        *,
        wide: bool = True,
        x87: bool = True,
        clears_masks: bool = True,
        shares: bool = True,
        isa: str = DEFAULT,
        leads_back: bool = True,
        contention_timeout: float = CONTENTION_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._isa = isa
        self._items = ItemMeasurer(board, settings, contention_timeout=contention_timeout, clock=clock)
        self._flags = flags
        self._options = options
        self._wide = wide
        self._x87 = x87
        self._clears_masks = clears_masks
        self._shares = shares
        self._leads_back = leads_back
        self.identity: Json = {**identity, "settings": settings.as_json(), "block": options.as_json()}

    def measure(
        self,
        blocks: Sequence[Block],
        mode: str = "",
        repeat: int = 0,
        *,
        latency_bound: Collection[int] = (),
        copies: int = 0,
        starts: Sequence[StartValues] = (),
        offset: int = 0,
    ) -> Iterator[tuple[int, Result]]:
        """(index, result in cycles per iteration) of every block, in the order in which they come.

        Args:
            blocks: To measure.
            mode: Instead of that of the options.
            repeat: Number of the repetition within one run; each has results of its own when the run is
                resumed.
            latency_bound: Indices of the blocks that mostly wait for their own results.
            copies: Instead of the number of the options.
            starts: The values that each block starts with; () for those of the options.
            offset: Bytes between the beginning of a cache line and the first copy, 0 to 63.
        """
        options = replace(
            self._options, mode=mode or self._options.mode, copies=copies or self._options.copies
        )
        measurable: dict[int, Block] = {}
        for index, block in enumerate(blocks):
            start = starts[index] if starts else None
            if reason := obstacle(block, options, self._flags) or self._too_old_for(block, start):
                yield index, Result("", "failed", note=reason)
            else:
                measurable[index] = block
        items: dict[int, tuple[Frame, BatchItem]] = {}
        counters = shared_counters([*measurable.values()]) if options.mode == LOOP else [""] * len(measurable)
        for (index, block), counter in zip(measurable.items(), counters, strict=True):
            start = starts[index] if starts else None
            frame, item = item_for(
                block,
                options,
                self._flags,
                wide=self._wide,
                counter=counter,
                start=start,
                offset=offset,
                leads_back=self._leads_back,
            )
            bound = self._shares and index in latency_bound
            name = f"{item.id} {repeat}" if repeat else item.id
            items[index] = frame, replace(item, id=name, latency_bound=bound)
        yield from self._results_by_index(items)

    def _too_old_for(self, block: Block, start: StartValues | None) -> str:
        subject = "" if self._x87 else filled_fpu(block)
        if start is not None and not start.masks and not self._clears_masks and mask_bits(block, None):
            subject = "masks of zeros"
        return f"the agent is too old for {subject}: start the one that this site offers" if subject else ""

    def time(self, codes: Sequence[TimedCode]) -> Iterator[CodeReading]:
        """See `CodeTimer`; every CPU of the instruction set must be able to execute the codes."""
        items = {
            index: item_for_code(code, self._flags, self._isa, leads_back=self._leads_back)
            for index, code in enumerate(codes)
        }
        for index, result in self._results_by_index(items):
            settled = result.state == "settled"
            note = "" if settled else result.note or f"the reading is {result.state}"
            yield CodeReading(codes[index], result.cycles if settled else None, result.spread or 0.0, note)

    def _results_by_index(self, items: Mapping[int, tuple[Frame, BatchItem]]) -> Iterator[tuple[int, Result]]:
        """(index, result) of every item; equal items are measured once."""
        indices: dict[str, list[int]] = defaultdict(list)
        for index, (_, item) in items.items():
            indices[item.id].append(index)
        for name, result in self._items.results({item.id: (frame, item) for frame, item in items.values()}):
            for index in indices[name]:
                yield index, result

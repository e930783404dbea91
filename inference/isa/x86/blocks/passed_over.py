"""What a reader passed over or where it cut, in words."""

from __future__ import annotations

from collections.abc import Iterator

from inference.isa.x86.assembly.program import Program

_SHOWN = 6


def notes_on(program: Program) -> Iterator[str]:
    """Sentences without a full stop about the whole of a text."""
    total = sum(program.skipped.values())
    if total:
        common = sorted(program.skipped.items(), key=lambda one: (-one[1], one[0]))
        shown = ", ".join(f"{name} × {count}" if count > 1 else name for name, count in common[:_SHOWN])
        more = f" and {len(common) - _SHOWN} other kinds" if len(common) > _SHOWN else ""
        yield f"{_counted(total, 'line')} without code passed over: {shown}{more}"
    if program.remarks:
        yield f"{_counted(program.remarks, 'remark')} behind a ; passed over"
    outside = sum(not one.regions for one in program.instructions) if program.regions else 0
    if outside:
        yield f"{_counted(outside, 'instruction')} outside the marked regions passed over"
    flows = [one.step.flow for one in program.instructions]
    ends = {
        "jump": flows.count("jump") + flows.count("branch"),
        "call": flows.count("call"),
        "return": flows.count("end"),
    }
    if any(ends.values()):
        yield f"blocks end at {', '.join(_counted(count, name) for name, count in ends.items() if count)}"


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'s' if count > 1 else ''}"

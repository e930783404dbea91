"""The JSON in which the results of explainable inference on Zen+ were published; see docs/formats.md.

A port mapping with the peak rate of instructions per cycle, and for each scheme its inverse throughput alone
and its number of µops. A scheme without port usage could not be characterised, and does not use no port.
"""

from __future__ import annotations

import math
from typing import Any

from inference.core.mapping import R_MAX_RANGE, Uops
from inference.formats.document import Document, UsageEntry, VerdictEntry, check_name
from inference.formats.file_units import FileUnit
from inference.formats.json_fields import as_list, as_number, as_object, as_ports, as_uops, printable_text
from inference.formats.problems import Problems, excerpt
from inference.formats.source import Source

RATE = "peakipc"


def read_explained(source: Source, problems: Problems, unit: FileUnit | None) -> Document:
    """Read verdicts on all schemes, and the port mapping of those that are characterised."""
    del unit  # the numbers are always cycles
    ports = as_ports(source.data.get("ports"), problems, column="ports")
    rows = as_object(source.data["data"], problems, row=None, column="data")
    r_max = _rate(source.data[RATE], problems)
    if ports is None or rows is None:
        return Document()
    if not rows:
        problems.add("the table is empty", "at least one scheme is expected", column="data")
    bits = {port: bit for bit, port in enumerate(ports)}
    verdicts = []
    for row, (name, fields) in enumerate(rows.items(), start=1):
        verdict = _verdict(row, name, fields, bits, problems)
        if verdict is not None:
            verdicts.append(verdict)
    usages = tuple(
        UsageEntry(each.row, each.column, each.scheme, each.uops)
        for each in verdicts
        if each.uops is not None
    )
    if verdicts and not usages:
        problems.add("no scheme has a port usage", "at least one is expected", column="data.portusage")
    said = printable_text(source.data.get("uarchname"))
    facts = {"instructions": len(rows), **({"arch": said, "name": said} if said else {})}
    return Document(
        usages=usages, verdicts=tuple(verdicts), partial=True, ports=ports, r_max=r_max, facts=facts
    )


def _rate(value: object, problems: Problems) -> float | None:
    number = as_number(value, problems, row=None, column=RATE)
    low, high = R_MAX_RANGE
    if number is not None and not (math.isfinite(number) and low <= number <= high):
        problems.add(
            f"{number!r} cannot be a rate", f"instructions per cycle, {low:g} to {high:g}", column=RATE
        )
        return None
    return number


def _verdict(
    row: int, name: str, value: object, bits: dict[str, int], problems: Problems
) -> VerdictEntry | None:
    before = problems.count
    scheme = check_name(name, problems, row=row, column="data")
    fields = as_object(value, problems, row=row, column="data")
    if scheme is None or fields is None:
        return None
    uops = _uops(row, fields.get("portusage"), bits, problems)
    cycles = _amount(row, fields, "itp", problems)
    counted = _amount(row, fields, "numuops", problems)
    if problems.count > before:
        return None
    return VerdictEntry(row, "data", scheme, uops or None, cycles, counted)


def _uops(row: int, value: object, bits: dict[str, int], problems: Problems) -> Uops | None:
    """From [[[port, …], count], …]; None where there are none."""
    column = "data.portusage"
    pairs: list[tuple[Any, Any]] = []
    for item in (as_list(value, problems, row=row, column=column) or ()) if value is not None else ():
        match item:
            case [ports, count]:
                pairs.append((ports, count))
            case _:
                problems.add(
                    f"{excerpt(item)} is not a kind of µop",
                    "a pair [[port, …], count] is expected",
                    row=row,
                    column=column,
                )
    return as_uops(pairs, bits, problems, row=row, column=column)


def _amount(row: int, fields: dict[str, Any], key: str, problems: Problems) -> float | None:
    """A number that is not negative, None where there is none."""
    if fields.get(key) is None:
        return None
    number = as_number(fields[key], problems, row=row, column=f"data.{key}")
    if number is not None and not (math.isfinite(number) and number >= 0):
        problems.add(
            f"{number!r} cannot be an amount",
            "a finite number ≥ 0 is expected",
            row=row,
            column=f"data.{key}",
        )
        return None
    return number

"""The table of uops.info as XML, `instructions.xml`: condensed while it streams in; see docs/formats.md.

The file has hundreds of megabytes. While it streams in, the parts that are used, a few dozen bytes per
instruction and microarchitecture, are written as JSON, and only these are stored; `uops_info_digest` reads
them. An instruction stays in memory until it ends and is bounded, as are the names that the parser keeps.
Documents with a DTD, entities or external references are refused.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, BinaryIO, Protocol
from xml.sax import SAXException
from xml.sax.handler import ContentHandler

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import create_parser

from inference.formats.document import ENTRY_LIMIT
from inference.formats.problems import ExchangeError
from inference.formats.source import SIZE_LIMIT
from inference.formats.uops_info_digest import DIGEST
from inference.isa.uops_info import XmlInstruction, XmlOperand, scheme_name

XML_PEEK = 64
"""Bytes that show whether a file is XML."""

XML_LIMIT = 4 << 30
"""Bytes of XML, whether they come compressed or not: several times what uops.info has."""

_CHUNK = 1 << 16  # bytes given to the parser at once
_MAX_LENGTH = 1 << 20  # bytes without the end of any element
_UNSUSPICIOUS = 2 << 20  # bytes of XML that may come from anything
_DENSEST = 200
"""Largest compression ratio that is accepted. Deflate reaches a thousand for repetitions."""

_GZIP = b"\x1f\x8b"
BEGINNING = re.compile(rb"\x1f\x8b|[\xef\xbb\xbf \t\r\n]*<(?!!DOCTYPE html|html\b)", re.IGNORECASE)
"""First bytes of XML and of gzip; a web page is none."""

_RATES = ("TP_loop", "TP_unrolled", "TP")
_MAX_CHILDREN = {"operand": 64, "architecture": 100, "measurement": 1000, "IACA": 1000}
"""Elements that an instruction may have, since it is in memory until it ends. uops.info has a dozen operands
and two dozen architectures, each with a measurement and a handful of IACA's answers.
"""

_MAX_TEXT = 1 << 18
"""Characters of an instruction's elements together; uops.info's have some thousands."""

_DEEPEST = 32  # elements in each other; uops.info has six
_MAX_NAMES = 2000  # of elements and attributes, which the parser keeps; uops.info has some dozens


OnBytes = Callable[[int], None]
"""Called again and again with the number of bytes read so far."""


class _Attributes(Protocol):
    def items(self) -> Any: ...
    def keys(self) -> Any: ...


def condense(file: BinaryIO, file_name: str, report: OnBytes = lambda done: None) -> bytes:
    """The digest of an XML file, as JSON; reads the file once, in bounded memory.

    Args:
        file: XML, or XML compressed by gzip, at its beginning.
        file_name: Name of the file, for messages.
        report: Called with the bytes of the file that were read; raises in order to stop.

    Raises:
        ExchangeError: The file is no XML, too large, or not uops.info's table.
    """
    digest = _Digest(file_name)
    parser = create_parser(forbid_dtd=True)
    parser.setContentHandler(digest)
    try:
        for chunk in _chunks(file, file_name):
            before = digest.ended
            parser.feed(chunk)
            report(file.tell())
            digest.silent = 0 if digest.ended > before else digest.silent + len(chunk)
            if digest.silent > _MAX_LENGTH:
                raise ExchangeError(f"{file_name}: an element has more than {_MAX_LENGTH >> 20} MiB")
        parser.close()
    except DefusedXmlException as error:
        raise ExchangeError(f"{file_name} has a DTD or entities, which no table of uops.info has") from error
    except SAXException as error:
        where = f"line {parser.getLineNumber()}, column {parser.getColumnNumber()}"
        raise ExchangeError(f"{file_name}, {where}: this is not well-formed XML ({error})") from error
    if not digest.written:
        raise ExchangeError(
            f"{file_name} is XML with {digest.instruction_count} instructions, none of them with an "
            "architecture; uops.info's instructions.xml is expected"
        )
    return digest.finished()


def _chunks(file: BinaryIO, file_name: str) -> Iterator[bytes]:
    """The XML in pieces, decompressed where it is gzip."""
    beginning = file.read(2)
    file.seek(0)
    source: Any = gzip.GzipFile(fileobj=file) if beginning == _GZIP else file
    total = 0
    try:
        while chunk := source.read(_CHUNK):
            total += len(chunk)
            if total > XML_LIMIT:
                raise ExchangeError(f"{file_name} has more than {XML_LIMIT >> 30} GiB of XML")
            if source is not file and total > _UNSUSPICIOUS and total > _DENSEST * file.tell():
                raise ExchangeError(f"{file_name} grows {_DENSEST}-fold: no table of uops.info is so dense")
            yield chunk
    except (OSError, EOFError, zlib.error) as error:
        raise ExchangeError(f"{file_name} cannot be decompressed: {error}") from error


class _Digest(ContentHandler):
    """Writes one line of JSON per instruction that was measured anywhere."""

    def __init__(self, file_name: str) -> None:
        self._file_name = file_name
        self._out = BytesIO()
        self._out.write(f'{{"format": "{DIGEST}", "instructions": [\n'.encode())
        self._instruction: XmlInstruction | None = None
        self._operand: XmlOperand | None = None
        self._measured: dict[str, list[dict[str, Any]]] = {}
        self._architecture_entries: list[dict[str, Any]] | None = None
        self._measurement: dict[str, Any] | None = None
        self._element_counts: Counter[str] = Counter()
        self._text = 0
        self._depth = 0
        self._names: set[str] = set()
        self.instruction_count = 0
        self.written = 0
        self.ended = 0
        self.silent = 0

    def finished(self) -> bytes:
        self._out.write(b"\n]}\n")
        return self._out.getvalue()

    def startElement(self, name: str, attrs: _Attributes) -> None:  # noqa: N802  SAX calls it so
        """Store the attributes that are used; ignore other elements."""
        self._check_shape(name, attrs)
        if name == "instruction":
            self._element_counts.clear()
            self._text = 0
            self._instruction = XmlInstruction(self._counted_attributes(name, attrs))
            self._measured = {}
        elif self._instruction is None:
            return
        elif name == "operand":
            self._operand = XmlOperand(self._counted_attributes(name, attrs))
            self._instruction.operands.append(self._operand)
        elif name == "architecture":
            self._architecture_entries = self._measured.setdefault(
                self._counted_attributes(name, attrs).get("name", ""), []
            )
        elif name in {"measurement", "IACA"} and self._architecture_entries is not None:
            attributes = self._counted_attributes(name, attrs)
            self._measurement = _measurement(attributes) if name == "measurement" else _prediction(attributes)
            self._architecture_entries.append(self._measurement)
        elif name == "latency" and self._measurement is not None:
            _note_latency(self._measurement, dict(attrs.items()))

    def characters(self, content: str) -> None:
        """Add the text of an operand: its registers or its value."""
        if self._operand is not None:
            self._note_text(len(content))
            self._operand.text += content

    def endElement(self, name: str) -> None:  # noqa: N802
        """Write the line of an instruction at its end."""
        self.ended += 1
        self._depth -= 1
        if name == "operand":
            self._operand = None
        elif name == "architecture":
            self._architecture_entries = None
        elif name in {"measurement", "IACA"}:
            self._measurement = None
        elif name == "instruction" and self._instruction is not None:
            self._write(self._instruction)
            self._instruction = None

    def _write(self, instruction: XmlInstruction) -> None:
        """Write what matters of an instruction, if anything was measured of it."""
        self.instruction_count += 1
        if self.instruction_count > ENTRY_LIMIT:
            raise ExchangeError(f"more than {ENTRY_LIMIT:,} instructions; several times fewer exist")
        measured = {name: entries for name, entries in self._measured.items() if name and entries}
        if not measured:
            return
        attributes = instruction.attributes
        line = [
            self.instruction_count,
            scheme_name(instruction),
            instruction.title,
            attributes.get("isa-set") or attributes.get("extension", ""),
            attributes.get("category", ""),
            measured,
        ]
        self._out.write(b",\n" if self.written else b"")
        self._out.write(json.dumps(line, separators=(",", ":")).encode())
        self.written += 1
        if self._out.tell() > SIZE_LIMIT:
            raise ExchangeError(
                f"{self._file_name}: what matters of it has more than {SIZE_LIMIT >> 20} MiB, "
                "the most that is kept; that of uops.info has a third of it"
            )

    def _check_shape(self, name: str, attrs: _Attributes) -> None:
        """Bound nesting and the number of names, both of which the parser keeps in memory."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ExchangeError(
                f"{self._file_name}: <{name[:40]}> is inside of {_DEEPEST} other elements; uops.info has six"
            )
        self._names.add(name)
        self._names.update(attrs.keys())
        if len(self._names) > _MAX_NAMES:
            raise ExchangeError(
                f"{self._file_name}: elements and attributes have more than {_MAX_NAMES:,} different names; "
                "uops.info has some dozens"
            )

    def _counted_attributes(self, name: str, attrs: _Attributes) -> dict[str, str]:
        """The attributes of an element that is kept until its instruction ends; refuses too many elements."""
        attributes = dict(attrs.items())
        self._element_counts[name] += 1
        if self._element_counts[name] > _MAX_CHILDREN.get(name, 1):
            raise ExchangeError(
                f"{self._where()} has more than {_MAX_CHILDREN.get(name, 1):,} elements <{name}>; "
                "uops.info's have some dozens at most"
            )
        self._note_text(sum(len(key) + len(value) for key, value in attributes.items()))
        return attributes

    def _note_text(self, length: int) -> None:
        self._text += length
        if self._text > _MAX_TEXT:
            raise ExchangeError(
                f"{self._where()} has more than {_MAX_TEXT >> 10} KiB of operands and measurements; "
                "uops.info's have some KiB"
            )

    def _where(self) -> str:
        return f"{self._file_name}, instruction {self.instruction_count + 1:,}"


def _measurement(attributes: dict[str, str]) -> dict[str, Any]:
    """{"p": port usage, "u": µops, "t": smallest inverse throughput in cycles}, as far as present."""
    entry: dict[str, Any] = {}
    if "ports" in attributes:
        entry["p"] = attributes["ports"]
    if (uops := attributes.get("uops", "")).isdecimal() and len(uops) < 9:
        entry["u"] = int(uops)
    rates = [rate for key in _RATES if key in attributes and (rate := _number(attributes[key])) is not None]
    if rates:
        entry["t"] = min(rates)
    return entry


def _prediction(attributes: dict[str, str]) -> dict[str, Any]:
    """{"iaca": version, "t": inverse throughput in cycles}."""
    entry: dict[str, Any] = {"iaca": attributes.get("version", "")}
    if (rate := _number(attributes.get("TP", ""))) is not None:
        entry["t"] = rate
    return entry


def _note_latency(measurement: dict[str, Any], attributes: dict[str, str]) -> None:
    """Widen "l": [least, most] cycles of any path between operands."""
    numbers = [
        number
        for key, value in attributes.items()
        if "cycles" in key and not key.endswith("bound") and (number := _number(value)) is not None
    ]
    if numbers:
        lowest, highest = measurement.get("l", (numbers[0], numbers[0]))
        measurement["l"] = [min(lowest, *numbers), max(highest, *numbers)]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < 1e9 else None

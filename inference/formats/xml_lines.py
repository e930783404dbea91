"""XML with one element per line, indented by depth."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from inference.core.texts import xml_text


class XmlLines:
    """A document as it is written; attributes without a value are left out."""

    def __init__(self) -> None:
        self._out = io.StringIO()
        self._xml = XMLGenerator(self._out, encoding="utf-8")
        self._xml.startDocument()
        self._depth = 0

    @contextmanager
    def inside(self, name: str, attributes: Mapping[str, str]) -> Iterator[None]:
        """An element around those that are written meanwhile."""
        self._begin(name, attributes)
        self._xml.ignorableWhitespace("\n")
        self._depth += 1
        yield
        self._depth -= 1
        self._xml.ignorableWhitespace(" " * self._depth)
        self._end(name)

    def leaf(self, name: str, attributes: Mapping[str, str], text: str = "") -> None:
        """An element with nothing but text in it."""
        self._begin(name, attributes)
        self._xml.characters(xml_text(text))
        self._end(name)

    def text(self) -> str:
        return self._out.getvalue()

    def _begin(self, name: str, attributes: Mapping[str, str]) -> None:
        self._xml.ignorableWhitespace(" " * self._depth)
        told = {key: xml_text(said) for key, said in attributes.items() if said}
        self._xml.startElement(name, AttributesImpl(told))

    def _end(self, name: str) -> None:
        self._xml.endElement(name)
        self._xml.ignorableWhitespace("\n")

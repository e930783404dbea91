"""Runs as users see them: list, page, archive, sockets; the engine is `inference.runs`."""

import re

from inference.formats.other_formats import ImporterEntry
from inference.runs.lazy import lazy

IMPORTERS = (ImporterEntry(re.compile(rb"\APK\x03\x04"), lazy(__name__, "archive.RunArchives")),)

WRITERS = {"run": lazy(__name__, "archive.write_run")}

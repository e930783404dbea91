"""One reader under atheris: `python -m benchmarks._guided_reader NAME TOLD CORPUS OPTION...`.

libFuzzer ends its process by itself; so what there is to tell is written to the file TOLD on the way.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import atheris

_TELL_EVERY = 200


def main() -> None:
    """Fuzz the reader of this name until the options say that it is enough."""
    name, told, corpus, *options = sys.argv[1:]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pmweb.settings")
    with atheris.instrument_imports(include=["inference", "anica_app", "pmweb.backup"]):
        import django

        django.setup()
        from benchmarks._input_importers import IMPORTERS
        from benchmarks._temporary_database import temporary_database
        from benchmarks.hostile import failure_of
    importer = next(one for one in IMPORTERS if one.name == name)
    outcomes: Counter[str] = Counter()
    failures: dict[str, str] = {}

    def tell() -> None:
        Path(told).write_text(json.dumps({"outcomes": dict(outcomes), "failures": failures}))

    def one_input(content: bytes) -> None:
        outcome = failure_of(importer, content)
        outcomes[outcome.partition(":")[0]] += 1
        if outcome not in ("accepted", "refused") and outcome not in failures:
            failures[outcome] = repr(content[:1000])
            tell()
        if outcomes.total() % _TELL_EVERY == 0:
            tell()

    with temporary_database():
        for number, content in enumerate(importer.sound()):
            (Path(corpus) / f"sound-{number}").write_bytes(content)
        tell()
        atheris.Setup([sys.argv[0], corpus, *options], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

"""`python -m benchmarks [NAME …] [--quick]`: one JSON object per line for every number measured."""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import sys
from importlib import import_module

import django

import benchmarks


def names() -> list[str]:
    """Every benchmark there is, by its name on the command line."""
    modules = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(module.replace("_", "-") for module in modules if not module.startswith("_"))


def main() -> int:
    """Run the benchmarks that were named, or all; the exit status is 1 where a named one lacks its data."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, or some of: {', '.join(names())}")
    parser.add_argument("--quick", action="store_true", help="smaller cases, done in seconds")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(names()))
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(names())}")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pmweb.settings")
    django.setup()
    skipped = False
    for name in options.names or names():
        try:
            for result in import_module(f"benchmarks.{name.replace('-', '_')}").run(options.quick):
                print(json.dumps(result.as_json(name)), flush=True)
        except benchmarks.MissingDataError as error:
            print(f"{name} skipped: {error}", file=sys.stderr)
            skipped = True
    return 1 if skipped and options.names else 0


if __name__ == "__main__":
    sys.exit(main())

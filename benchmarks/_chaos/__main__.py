"""`python -m benchmarks._chaos`: disturbs runs of every kind, says how often and what did not hold."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from benchmarks._chaos.opening import opened
from benchmarks._chaos.scarce import NotHereError
from benchmarks._chaos.world import DATABASES, SQLITE
from tests.servers import NotInstalledError

EXIT_VIOLATED, EXIT_MISSING, EXIT_ENDED = 4, 3, 143  # 1 is what Python says of an exception


def main() -> int:
    """One JSON object per kind of run, one of the whole; exit status 4 where something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks._chaos", description=__doc__)
    parser.add_argument(
        "--database", choices=DATABASES, default=SQLITE, help="with Redis where it is postgresql"
    )
    parser.add_argument("--kills", type=int, default=40, metavar="N", help="of each kind of run (40)")
    parser.add_argument("--seed", type=int, default=1, help="other faults at other moments (1)")
    parser.add_argument("--kinds", nargs="*", default=[], metavar="KIND", help="these alone")
    parser.add_argument("--first", action="store_true", help="the kinds that matter most alone")
    parser.add_argument("--only-kills", action="store_true", help="no faults of the whole site")
    parser.add_argument("--clock", action="store_true", help="the time of day jumps as well (slower)")
    parser.add_argument("--logs", type=Path, metavar="DIRECTORY", help="keep there what the processes say")
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "pmweb.settings"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_ENDED))  # whatever was started and mounted goes
    try:
        with opened(options) as world:
            return _undergo(world, options)
    except (NotInstalledError, NotHereError) as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_MISSING


def _undergo(world, options: argparse.Namespace) -> int:  # type: ignore[no-untyped-def]
    """Disturb runs of the chosen kinds, and print one JSON object per kind and a summary; the exit status."""
    from benchmarks._chaos.chaos_run import ChaosRun, prepared
    from benchmarks._chaos.kinds import FIRST_KINDS

    kinds = prepared(world).kinds()
    wanted = options.kinds or (FIRST_KINDS if options.first else [kind.name for kind in kinds])
    unknown = sorted(set(wanted) - {kind.name for kind in kinds})
    if unknown:
        sys.stderr.write(f"no kind {unknown[0]!r}; there are {', '.join(kind.name for kind in kinds)}\n")
        return 2
    chosen = [kind for kind in kinds if kind.name in wanted]
    report = ChaosRun(
        world, chosen, options.seed, options.kills, site_faults=not options.only_kills
    ).undergo()
    facts = {"database": options.database, "seed": options.seed}
    for kind in chosen:
        name = kind.name
        counted = {"runs": report.runs[name], "kills": report.kills[name], "by": dict(report.kills_by[name])}
        print(json.dumps({"kind": name, **counted, **facts}), flush=True)
    summary = {
        "runs": report.runs.total(),
        "kills": report.kills.total(),
        "disturbances": dict(report.disturbances),
        "violations": report.violations,
        "broken": [[violation.number, violation.run, violation.sort] for violation in report.broken],
        "seconds": round(report.seconds, 1),
        "lacks": world.lacks,
        "tracebacks": world.complaints(),
    }
    print(json.dumps({**summary, **facts}), flush=True)
    return EXIT_VIOLATED if report.violations else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    sys.exit(main())

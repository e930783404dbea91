"""Everything about one run in a zip, and back: docs/formats.md describes it.

| file | concern |
|---|---|
| `documents` | what the JSON documents inside have, as types that are checked |
| `references` | where descriptions and results name rows by their numbers, which differ elsewhere |
| `writing` | from rows to the zip |
| `reading` | from a zip that may hold anything to values |
| `storing` | from values to rows, the run itself excepted |

The run is stored by `inference.features.running.runs.archive`, which knows what a run of each kind has to
describe.
"""

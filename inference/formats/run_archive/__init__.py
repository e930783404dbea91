"""Everything about one run in a zip, and back: docs/formats.md describes it.

| file | concern |
|---|---|
| `documents` | what the JSON documents inside have, as types that are checked |
| `references` | where descriptions and results name rows by their numbers, which differ elsewhere |
| `writing` | from these documents to the zip |
| `reading` | from a zip that may hold anything to values |

`inference.storage.run_archive_writing` makes the documents of rows, `run_archive_storing` there makes rows of
the values. The run itself is stored by `inference.features.running.runs.archive`, which knows what a run of
each kind has to describe.
"""

"""Retention: traces of old work that take room and that no result rests on go, when an administrator says so.

| module | what it does |
|---|---|
| `surplus` | rows that go or are emptied, a few at a time, and how much they are |
| `journals` | of journals of ended runs: what newer events replace, and populations that no page shows |
| `traces` | the table of all traces: what goes of each, and what stays |
| `pruning` | prunings that were asked for, and what came of them |

What goes is never read by a mapping, a proof, a discovery, an evaluation, or an export of these.
"""

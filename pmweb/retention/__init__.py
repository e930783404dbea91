"""Retention: traces of old work that take room and that no result rests on go, when an administrator says so.

| module | what it does |
|---|---|
| `trace` | what a trace is: its name, for how long it is kept, how much of it would go, its removal |
| `whole_rows` | traces whose rows go as they are: checkpoints, answers, log-ins, files, the audit log |
| `journals` | journals of ended runs: what a newer event replaces is emptied, the numbers stay |
| `samples` | blocks of decisions that no discovery rests on |
| `pruning` | all traces and for how long each is kept; looks at them or removes them when asked |

What goes is never read by a mapping, a proof, a discovery, an evaluation, or an export of these.
"""

"""What may be said of a result: scores, selections and verdicts, as pure functions of numbers and mappings.

- `sheet`: items, the answers of sources for each, the reference; which items are compared
- `agreement`: how well a source agrees with the reference, in numbers, by group, by scheme
- `residual_traits`: what items with large errors have in common
- `disagreement`: where sources differ, whichever is right, and the shortest items that show it
- `accuracy`: good, usable, doubtful or wrong, and why; the errors of repeated measurements
- `held_out_checks`: errors of a mapping on experiments that were held out from its search
- `contradictions`: where two results of one machine differ
- `claims`: which word may describe a result; nothing else uses strong ones
- `selection`: which of several parts a core model takes, and one mapping made of several
"""

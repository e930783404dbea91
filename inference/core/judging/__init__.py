"""What may be said of a result: scores, selections and verdicts, as pure functions of numbers and mappings.

- `sheet`: items, what sources answer for each, the reference; which items are compared
- `agreement`: how well a source agrees with the reference, in numbers, group by group, scheme by scheme
- `residual_traits`: what items with large errors have in common
- `disagreement`: where sources differ, whichever is right, and the shortest items that show it
- `accuracy`: good, usable, doubtful or wrong, and why; what measuring the same items once more gives
- `held_out_checks`: how a mapping does on experiments that were kept from its search
- `contradictions`: where two results of one machine say different things of a scheme
- `words`: which word may be used of a result; nothing else uses strong ones
- `selection`: which of several parts a core model takes, and what one mapping of several says
"""

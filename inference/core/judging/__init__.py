"""What may be said of a result: scores, selections and verdicts, as pure functions of numbers and mappings.

- `repeating`: what measuring the same items once more gives, without disturbed readings
- `accuracy`: good, usable, doubtful or wrong, and why
- `held_out`: how a mapping does on experiments that were kept from its search
- `contradictions`: where two results of one machine say different things of a scheme
- `words`: which word may be used of a result; nothing else uses strong ones
- `selection`: which of several parts a core model takes, and what one mapping of several says
"""

"""What may be said of a result: scores, selections and verdicts, as pure functions of numbers and mappings.

- `repeating`: what measuring the same items once more gives, without disturbed readings
- `accuracy`: good, usable, doubtful or wrong, and why
"""

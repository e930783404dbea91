"""The front end of a core in numbers: what it fetches, decodes and hands over per cycle.

| module | |
|---|---|
| `reading` | what timed codes say of it |
"""

from inference.core.front_end.reading import FrontEnd, FrontEndNumber, FusionPair, read_front_end

__all__ = ["FrontEnd", "FrontEndNumber", "FusionPair", "read_front_end"]

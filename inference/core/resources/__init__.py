"""Conjunctive resource mappings, Palmed's model: a second predictor beside the port mapping (thesis ch. 7).

A scheme puts a load on abstract resources; the fullest resource gives the inverse throughput. There are no
µops, no schedule, and nothing to optimise.
"""

from inference.core.resources.conversion import Conversion, TooManyResourcesError, from_port_mapping
from inference.core.resources.mapping import LOAD_RANGE, MAX_LOADS, MAX_RESOURCES, Loads, ResourceMapping

__all__ = [
    "LOAD_RANGE",
    "MAX_LOADS",
    "MAX_RESOURCES",
    "Conversion",
    "Loads",
    "ResourceMapping",
    "TooManyResourcesError",
    "from_port_mapping",
]

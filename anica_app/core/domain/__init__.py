"""The abstract domain: the constraints that abstract blocks put on basic blocks (thesis §8.1.2, §8.1.4,
§8.1.6).
"""

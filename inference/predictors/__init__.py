"""Throughput predictors, a file or folder each (see `kinds`): external programs, our mappings, machines.

Beside them lies what several need: choosing and trying programs, remembering answers, asking many at once.
"""

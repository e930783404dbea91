"""Throughput predictors, a file or folder each (see `kinds`): external programs, port mappings, machines.

Also here is what several of them use: choosing and trying programs, caching answers, asking many at once.
"""

"""Throughput predictors, one file each: external programs, mappings of ours, machines."""

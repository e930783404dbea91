"""The maths of port mappings, free of Django: values, throughput, metrics and the inference algorithms.

Importing this package loads numpy at most; scipy and numba come at first use.
"""

"""Inference of a core’s ports, latencies, front end and scheduler from measurements, and core models of
them.
"""

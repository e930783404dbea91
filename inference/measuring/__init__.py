"""Measurers: agents on other computers, recorded data, simulated processors, and proxies in front of any
of them.
"""

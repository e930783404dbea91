"""Machines: adding them, serving their agents, and judging their measurements."""

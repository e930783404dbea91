"""Machines with agents: added, watched, trusted or not."""

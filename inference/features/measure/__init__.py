"""Measuring experiments on a machine for their own sake."""

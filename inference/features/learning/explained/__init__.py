"""Verdicts of explainable inference, and the evidence for each scheme's µops."""

from __future__ import annotations

"""What can go wrong in a search for inconsistencies.

AnicaError
└── PredictorError   a predictor cannot work here at all: not installed, wrongly configured, its machine gone
"""

from __future__ import annotations


class AnicaError(Exception):
    """Says what is wrong, where, and what would be right."""


class PredictorError(AnicaError):
    """A predictor cannot work: the message says what to install or to configure."""

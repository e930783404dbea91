"""Readers and writers of campaign directories and archives: files to values and back, without a database."""

from __future__ import annotations

import re

DOCUMENT_KEYS = re.compile(
    rb'"(?:abs_insns|insn_feature_manager|interestingness_metric|abstraction_config(?:_path)?|'
    rb'discovery_(?:batch_size|possible_block_lengths)|generalization_batch_size)"\s*+:'
)
"""What documents of the published AnICA have near their beginning, and other JSON has not."""

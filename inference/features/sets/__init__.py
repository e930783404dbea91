"""Experiment sets: shown, compared, merged."""

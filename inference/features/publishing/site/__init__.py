"""Mappings, core models, comparisons and campaigns as a static site."""

"""Measurements that take longer than a mapping allows."""

"""Inference of a port mapping by any algorithm: form, run, what it tells while it works and afterwards."""

"""Stores values of `inference.core` as database rows and loads them, a module per kind of row.

`rows` has experiments and measurements, `mappings` mappings, `evaluations` their accuracy, `results` the
conflicts between results of a machine. `importing` stores parsed files; `exporting` writes rows as files.
"""

"""The gallery: whole core models that ship with the product, recorded by it on cores of their kind.

Each core has two files in `cores/`: its core model (`NAME.json.gz`, the document of an export) and where the
numbers come from (`NAME.toml`). `manage.py record-core` writes both for a profiled core.
"""

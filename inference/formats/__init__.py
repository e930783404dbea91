"""Readers and writers of file formats, a module per format: bytes to values and back, without a database.

`import_formats` lists the formats that can be imported, `parsing` reads a file and resolves its scheme names;
`inference.storage` stores what they return.
"""

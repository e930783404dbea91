"""From the bytes of files to values and back, a module per format, without a database.

`formats` lists what can be imported, `parsing` reads it; `inference.storage` looks up and stores.
"""

"""The HTTP API: what the pages can do, for programs. JSON in and out, below `/api/v1/`.

Operations are thin: they read their input, call the queries, the exchange and the runs that pages and
commands call as well, and shape the answer. What a caller may do comes from the site (`access`); another app
adds its operations through `registry`.
"""

"""The HTTP API: JSON below `/api/v1/`, for programs.

Operations are thin: they validate input, call the functions that pages and commands call as well, and shape
the answer. Permissions come from the site (`access`); features register their routers in
`inference.web.contributions`.
"""

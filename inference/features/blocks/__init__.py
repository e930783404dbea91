"""Basic blocks: decoded, measured, and the load they put on ports."""

"""Basic blocks as pages show them."""

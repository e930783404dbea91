"""The pages of the house itself: start, About, and the sign of life."""

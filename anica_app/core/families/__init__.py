"""What the discoveries of a campaign have in common: families of one cause, found by asking about changes."""

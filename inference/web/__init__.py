"""What pages, API and shell of several features have in common."""

"""How often each two tools disagree about the blocks of a set."""

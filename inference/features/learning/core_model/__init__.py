"""Why a block takes as long as it does: the bounds that a machine’s core model sets."""

"""How much of what is interesting the discoveries of campaigns explain."""

"""Commands of the site: starting, accounts and tokens, sharing, back-ups, pruning."""

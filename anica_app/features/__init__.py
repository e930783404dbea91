"""One package per feature: what can be asked, what is read, the run that does it, page, API and shell."""

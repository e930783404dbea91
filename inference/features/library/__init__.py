"""What is stored: instruction sets, experiments, mappings, uploaded files; and the search in all of it."""

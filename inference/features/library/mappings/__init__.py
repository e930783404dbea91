"""Port mappings: the list and the page of each."""

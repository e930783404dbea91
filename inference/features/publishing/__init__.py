"""What leaves the site: exports and static sites."""

"""Lists and single values of AnICA that pages and shell share, in a bounded number of queries."""

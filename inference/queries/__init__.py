"""Read models shared by pages and shell: what a page needs, in a bounded number of queries."""

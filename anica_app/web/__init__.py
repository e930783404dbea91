"""Code that several pages and operations of AnICA share."""

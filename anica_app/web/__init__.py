"""What several pages and operations of AnICA have in common."""

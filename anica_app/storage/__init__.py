"""What several features of AnICA read of stored campaigns and of descriptions of runs."""

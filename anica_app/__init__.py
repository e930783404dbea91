"""AnICA: finds basic blocks on which throughput predictors disagree, and says what they have in common."""

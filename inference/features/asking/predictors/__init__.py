"""The predictors that are configured here, and those that live in the database."""

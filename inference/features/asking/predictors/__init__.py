"""Predictors: installed programs, stored configurations, and what the database makes one of."""

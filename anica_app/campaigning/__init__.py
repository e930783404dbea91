"""Campaigns as durable runs; which predictors there are; remembered answers."""

"""Budgets and costs."""

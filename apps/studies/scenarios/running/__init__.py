"""Runs scenarios: what happens when, who does it, and what is recorded of it."""

"""Builders and fakes for tests of the core."""

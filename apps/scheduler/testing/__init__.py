"""Builders of objects and a fake clock for tests of the core.

Tests, the benchmark and conformance import it; the scheduler itself does not.
"""

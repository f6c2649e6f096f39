"""Imports files of other systems: objects of a cluster, and recordings as timed writes.

A module for each format declares it as a `Format`; `registry` has the list.
"""

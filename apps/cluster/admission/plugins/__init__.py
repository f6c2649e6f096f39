"""Admission plugins that a cluster can switch on beside those that always act.

`Cluster.admission_plugins` maps the names of those that are on to their parameters; `registry`
knows them all, checks such a mapping, and makes a `Chain` of it.
"""

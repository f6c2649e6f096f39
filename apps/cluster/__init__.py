"""The objects of clusters, the store that changes them, and the log of changes.

Packages, from the top: writing, quota, admission, validation, log, schema and pods; `tables` has
the columns of each kind. A package imports only those below it (pyproject.toml has all floors).
"""

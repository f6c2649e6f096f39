"""The objects of clusters, the store that changes them, and the log of changes.

Packages, from the top: writing, quota, admission, validation, log, schema and pods. A package
imports only those below it and the modules at this level.
"""

"""The forms: input as values, and the errors of the store at the fields they are about.

`examples/` has a manifest to start from for each kind. The views and templatetags import it.
"""

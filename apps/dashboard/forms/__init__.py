"""The forms: what people type, as values; what the store refuses, beside the field it is about.

`examples/` has a manifest to start from for each kind. The views and templatetags import it.
"""

"""Field ownership: which client set which fields of an object (`metadata.managedFields`).

`docs/adr/field-ownership.md` describes the decisions behind it.
"""

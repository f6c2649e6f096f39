"""The form of the profile editor, as a second view of the YAML beside it.

`sheet.build_sheet` describes the fields for a text; `applying.apply_changes` writes what a user
changed in them into the text. Names and paths of the fields are those of the configuration.
"""

"""The store: every change of every object is written here, under its locks, with its log rows.

`store` is what others import; the rest of the room are its steps.
"""

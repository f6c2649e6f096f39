"""The commands of `manage.py`, and what they share.

Nothing imports this room.
"""

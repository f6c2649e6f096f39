"""The scheduling queue in the database: its entries, its history, and activation by users.

Imported by the loop, api and dashboard.
"""

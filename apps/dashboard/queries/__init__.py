"""The queries of each page, one module a page, each a bounded number of statements.

All reading of models for the pages is here, or in the rooms below the dashboard.
The views, forms and templatetags import it.
"""

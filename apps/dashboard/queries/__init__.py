"""The queries of the pages: a module for each page, with a bounded number of statements.

Pages read models only here, or through the packages below the dashboard.
The views, forms and templatetags import it.
"""

"""The queries of each page, one module a page, each a bounded number of statements."""

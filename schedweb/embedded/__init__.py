"""PostgreSQL from a Python package, run beside the application."""

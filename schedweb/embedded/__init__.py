"""PostgreSQL from a Python package, run as a child process."""

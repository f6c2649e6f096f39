"""PostgreSQL from a Python package, run beside the application.

`postgres` starts and stops the server, `places` finds its files, `account` its system user.
The supervisor imports it, and the tests.
"""

"""Django's database backend for PostgreSQL, with a pool that checks connections by themselves."""

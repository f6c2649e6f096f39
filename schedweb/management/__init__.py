"""Commands of the site as a whole; those of clusters are in `apps.administration.management`.

`manage.py` finds them; no module imports it.
"""

"""`make bench-house`: the whole site over http, as its clients see it."""

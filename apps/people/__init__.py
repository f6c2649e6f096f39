"""The people who use a site: how they authenticate, their tokens and sessions, and what they did.

`authentication` finds the user of a request, for every API, page and stream. `tokens`, `accounts`
and `sessions` are what users and site admins change; `audit` records who did what.
"""

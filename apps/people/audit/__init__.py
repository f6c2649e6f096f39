"""Who did what, when, from where and with which token.

`recording.record` is called where it happens. `caller` has the request that is under way,
`refused_requests` records what was not allowed. Entries are never updated; retention alone deletes
them.
"""

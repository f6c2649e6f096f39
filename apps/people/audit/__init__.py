"""Who did what, when, from where and with which token.

`recording.record` is called where it happens. `caller` knows the request that is under way,
`refusals` what was not allowed. Entries are never updated; retention alone deletes them.
"""

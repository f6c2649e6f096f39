"""Who sends a request, and what they may do: roles, members, identities, decisions, tokens.

`deciding.decide` answers "may this user do that?" for the Kubernetes API and its access reviews,
`gate.check` for pages, `/api/v1` and streams, by the table in `routes`. Both take the role of a
user in a cluster from `grants.role_of`, and refuse in `refusals`.
"""

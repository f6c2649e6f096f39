"""Who sends a request, and what they may do: identities, the decision, impersonation, tokens.

`deciding.decide` is the only place that answers "may this user do that?". The Kubernetes API asks
it before each request, and access reviews return its answers.
"""

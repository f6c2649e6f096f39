"""ValidatingAdmissionPolicies: which of them a request meets, and what they say about it.

`Policies` are those of a cluster that have a binding, compiled; `review` evaluates the ones that
match a request (`requests.Review`). They read the parameters of a binding through `FindParams`.
"""

"""Admission webhooks: which of them a request meets, what they are sent, and what they answer.

`Webhooks` are those of a cluster. `mutate` asks the mutating ones, one after the other, `validate`
the others. They are called through `CallWebhook`, which a cluster in memory does not have.
"""

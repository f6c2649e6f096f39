"""Webhooks: events of a cluster, sent to the addresses that users have chosen.

`service` adds, tests and deletes webhooks. Beat runs `collecting` every two seconds, which reads
what is recorded anyway, so that scheduling does no work for it. `sending` posts one delivery,
signed, and retries with backoff.
"""

"""Administration: what users and the site do with whole clusters.

Clusters and bulk changes of what is in them (`clusters`), long-running work (`operations`),
`webhooks`, `retention`, the audit log's lists (`auditing`), the Celery tasks and the commands
(`management`).

Imports every room below. The APIs and the pages import it; `schedweb` starts its tasks.
"""

"""The Kubernetes API of each cluster, under /k8s/{cluster}/.

`views` dispatches, `verbs` and the subresources act, `resources` says what is served where.
Only `apps.api.urls` and `apps.api.streams` import it.
"""

"""CEL, the expression language of device selectors, as kube-scheduler evaluates it.

`selector.compile_selector` is the entry. The library parses; what it does not have is here: the type
check with Kubernetes' functions, evaluation with the cost that Kubernetes counts, and the estimate of
the maximum cost (docs/adr/cel.md).
"""

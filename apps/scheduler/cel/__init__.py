"""CEL, the expression language of device selectors, as kube-scheduler evaluates it.

`selector.compile_selector` is the entry. The library parses; what it does not have is here: the
type check with Kubernetes' functions, and evaluation with the cost that Kubernetes counts
(docs/adr/cel.md).
"""

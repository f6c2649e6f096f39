"""CEL, the language of device selectors and validation rules, as Kubernetes evaluates it.

`selector.compile_selector` and `programs.compile_program` are the entries. The library parses; what
it does not have is here: the type check with Kubernetes' functions, and evaluation with the cost
that Kubernetes counts (docs/adr/cel.md).
"""

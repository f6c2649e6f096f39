"""The columns of each kind, as `kubectl get` and the pages show them."""

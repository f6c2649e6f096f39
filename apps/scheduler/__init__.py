"""The scheduler core: kube-scheduler's concepts in plain Python and NumPy, without any framework."""

"""kube-scheduler 1.36 in plain Python and NumPy, without Django and without a clock of its own."""

"""kube-scheduler 1.36 in plain Python and NumPy; knows no Django, no database, no clock of its own."""

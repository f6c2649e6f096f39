"""What services of a cluster share: addresses and node ports, each held by one service.

The store allocates them in its transactions; which ones a service may ask for is in `validation`.
"""

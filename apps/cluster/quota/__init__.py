"""ResourceQuotas: what objects use, and which quotas count them.

The store charges them in its transactions; validation of quotas is in `validation`.
"""

"""ResourceQuotas: what objects use, which quotas count them, and what is left of these."""

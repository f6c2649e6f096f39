"""ResourceQuotas: what objects use, and which quotas count them."""

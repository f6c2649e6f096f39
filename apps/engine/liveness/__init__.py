"""Signs of life of a mock cluster, computed when they are read: Leases, component statuses."""

"""A cluster in memory: its objects, its scheduler and its controllers, on a virtual clock."""

"""NodeResourcesFit and NodeResourcesBalancedAllocation: room for a pod, and how well it is used."""

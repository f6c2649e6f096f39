"""PodTopologySpread: pods of one kind spread evenly over zones, hosts or any other domain."""

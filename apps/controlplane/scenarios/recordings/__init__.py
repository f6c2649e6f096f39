"""Reads recordings and snapshots of other systems: objects of a cluster, and timed writes."""

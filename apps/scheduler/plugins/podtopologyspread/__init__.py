"""PodTopologySpread: matching pods are spread evenly over zones, hosts or other domains.

The registry imports the class in `plugin`; no other plugin imports this package.
"""

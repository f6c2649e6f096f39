"""Custom resources: the kinds that the CustomResourceDefinitions of a cluster declare."""

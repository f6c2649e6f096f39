"""Values computed from a pod's spec alone: its requests, its QoS class.

Imports nothing else of this app; every package may import it.
"""

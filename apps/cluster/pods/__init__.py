"""What follows from a pod's specification alone: its requests, its QoS class.

Imports nothing of the cluster; any room may import it.
"""

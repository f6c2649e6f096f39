"""What the scheduler knows of the cluster: nodes with their pods, and the snapshot of each cycle.

The scheduler and the event handlers import it; plugins see the snapshot as
`framework.nodes.NodeColumns`.
"""

"""VolumeBinding: claims are bound to volumes that the selected node can access.

The registry imports the class in `plugin`; no other plugin imports this package.
"""

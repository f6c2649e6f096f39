"""NodeVolumeLimits: how many volumes of a CSI driver a node can attach.

The registry imports the class in `plugin`; legacy_plugins has earlier forms of it, which import
other modules of this package.
"""

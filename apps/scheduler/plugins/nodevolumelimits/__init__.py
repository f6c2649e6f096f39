"""NodeVolumeLimits: how many volumes of a CSI driver a node can attach.

The registry imports the class in `plugin`; only the legacy limits import other modules of this
package.
"""

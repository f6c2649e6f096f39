"""NodeAffinity: the node selector and node affinity of pods, and the affinity of the profile.

The registry imports the class in `plugin`; no other plugin imports this package.
"""

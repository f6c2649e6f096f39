"""NodeAffinity: node selectors and node affinity, of pods and of the profile."""

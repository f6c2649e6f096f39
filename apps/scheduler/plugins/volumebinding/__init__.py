"""VolumeBinding: claims get volumes that the chosen node can reach."""

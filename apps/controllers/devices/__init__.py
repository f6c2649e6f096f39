"""Controllers of devices: claims of pods, evictions, and the mock driver that publishes devices."""

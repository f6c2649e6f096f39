"""DynamicResources: claims of pods for devices, and their allocation."""

"""Plugins of releases before 1.26, for converted profiles: nothing else can name them."""

"""Plugins that show an extension point; no profile has them unless it enables them."""

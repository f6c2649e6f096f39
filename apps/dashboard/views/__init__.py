"""The views: each parses, calls one selector or service, renders."""

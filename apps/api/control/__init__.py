"""The API of the control plane itself, under /api/v1/."""

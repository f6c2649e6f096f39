"""What the containers of a mock cluster use: invented, but the same for the same moment."""

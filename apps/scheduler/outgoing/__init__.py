"""Requests to addresses that users choose: what they may reach and read, and for how long."""

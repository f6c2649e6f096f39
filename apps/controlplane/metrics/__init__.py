"""The metrics of every cluster: recorded by the loop, served by the web processes."""

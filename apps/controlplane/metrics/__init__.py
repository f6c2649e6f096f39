"""The metrics of every cluster: kept by the loop, answered by the web processes."""

"""The figures of clusters over time: sampled, rolled up, retained and read as charts.

`sampling` writes buckets of every resolution; `reading` returns the charts of `catalog`.
"""

"""The results of one attempt, refusals and scores, as values and as JSON.

Pure functions over a `Decision` of the core. The packages above, the API and the pages
read a decision through this package; it imports only the core. Sentences are in `explanations`.
"""

"""Why a pod landed where it did, why not elsewhere, and what a pending pod waits for.

The API and the pages show the same objects and the same sentences, which are made here and in
`apps.scheduler.explaining`. docs/explanations.md describes them.
"""

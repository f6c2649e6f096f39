"""Threads that compress at the same time."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import zstandard

from apps.engine.compression import Compressor
from apps.engine.series import buckets
from apps.engine.series.buckets import CLUSTER, Bucket, Part

THREADS = 4
COMPRESSOR = Compressor(level=6)


def test_threads_share_a_compressor() -> None:
    """A worker runs the clusters' loops and samples in threads: one ended with SIGSEGV."""
    texts = [random.Random(seed).randbytes(50) * (seed * 400) for seed in range(1, 40)]

    def compress_all(_: int) -> bool:
        return all(zstandard.decompress(COMPRESSOR.compress(text)) == text for text in texts * 20)

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(compress_all, range(THREADS)))


def test_buckets_of_several_clusters_are_encoded_at_the_same_time() -> None:
    def bucket(size: int) -> Bucket:
        levels = {f"use.example.com/{number}": number / size for number in range(size)}
        return {CLUSTER: Part(levels), "namespace/default": Part(counts={"arrivals": float(size)})}

    written = [bucket(size) for size in range(1, 2000, 200)]

    def encode_all(_: int) -> bool:
        return all(buckets.decode(buckets.encode(each)) == each for each in written * 20)

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(encode_all, range(THREADS)))

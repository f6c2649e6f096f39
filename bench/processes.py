"""Processor time and memory of processes, from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

#: clock ticks of /proc per second
TICKS = os.sysconf("SC_CLK_TCK")


def seconds_of_tree(root: int) -> float:
    """Processor time of a process and all its descendants, also of those that have ended."""
    return seconds(tree(root))


def tree(root: int) -> list[int]:
    """The process and its living descendants."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        if stat := _stat(int(folder.name)):
            children.setdefault(int(stat[1]), []).append(int(folder.name))
    processes = [root]
    for process in processes:  # grows while it is walked
        processes += children.get(process, [])
    return processes


def seconds(processes: Iterable[int]) -> float:
    """Processor time of processes, and of their children that have ended."""
    return sum(sum(map(int, _stat(process)[11:15])) for process in processes) / TICKS


def memory(process: int) -> dict[str, float]:
    """``rss_mb`` and ``pss_mb`` (shared pages divided among their users); {} if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return {}
    wanted = {"Rss": "rss_mb", "Pss": "pss_mb"}
    fields = dict(line.split(":", 1) for line in lines[1:])
    return {wanted[name]: round(int(fields[name].split()[0]) / 1024, 1) for name in wanted}


def command_line(process: int) -> str:
    """The command with its arguments; "" if the process has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""


def _stat(process: int) -> list[str]:
    """The fields after the command's name; [] if the process has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []

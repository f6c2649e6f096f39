"""The options of `simulate` and `capacity`: the state, the changes and the configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.cluster.errors import ApiError
from apps.scheduler.config import ConfigError
from apps.studies.lab.simulation import SimulationRequest

_NODES = (
    ("--cordon", "cordon this node"),
    ("--uncordon", "uncordon this node"),
    ("--drain", "cordon this node and evict its pods"),
    ("--delete-node", "delete this node, as if it had failed"),
)


def add_options(parser: CommandParser) -> None:
    """The options of both commands."""
    parser.add_argument("name", help="the cluster")
    parser.add_argument("-f", "--file", help="YAML with pods, workloads and nodes; - for stdin")
    for flag, text in _NODES:
        help_text = f"{text}; can be repeated"
        parser.add_argument(flag, action="append", default=[], metavar="NODE", help=help_text)
    parser.add_argument(
        "--delete-pod", action="append", default=[], metavar="NAMESPACE/NAME", help="delete a pod"
    )
    moments = parser.add_mutually_exclusive_group()
    # --version is Django's
    moments.add_argument("--at-version", metavar="NUMBER", help="start from this version")
    moments.add_argument("--at", metavar="TIME", help="start from the state at this time (UTC)")
    moments.add_argument("--decision", metavar="ID", help="start from what this decision saw")
    configurations = parser.add_mutually_exclusive_group()
    configurations.add_argument("--configuration", metavar="FILE", help="schedule with this file")
    configurations.add_argument("--revision", type=int, help="schedule with this revision")
    parser.add_argument(
        "--feature-gate", action="append", default=[], metavar="NAME=true", help="set a gate"
    )
    parser.add_argument("--seed", type=int, default=0, help="for draws among equal nodes")
    parser.add_argument("--json", action="store_true", help="the answer of the REST API")


def build_request(options: dict[str, Any], **fields: Any) -> SimulationRequest:
    """The request that the options describe; CommandError for a file that cannot be read."""
    moments = {"version": "at_version", "at": "at", "decision": "decision"}
    return SimulationRequest(
        objects=read_file(options["file"]) if options["file"] else (),
        cordon=options["cordon"],
        uncordon=options["uncordon"],
        drain=options["drain"],
        delete_nodes=options["delete_node"],
        delete_pods=options["delete_pod"],
        moment={name: options[key] for name, key in moments.items() if options[key]},
        configuration=read_file(options["configuration"]) if options["configuration"] else "",
        revision=options["revision"],
        feature_gates=dict(parse_gate(each) for each in options["feature_gate"]),
        seed=options["seed"],
        **fields,
    )


def describe(error: ApiError | ConfigError) -> CommandError:
    """An error in one line."""
    return CommandError(str(error))


def read_file(name: str) -> str:
    """The text of a file, or of the standard input; raises CommandError if it cannot be read."""
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"cannot read {name}: {error}") from error


def parse_gate(text: str) -> tuple[str, bool]:
    """NAME=true or NAME=false; CommandError for anything else."""
    name, _, value = text.partition("=")
    if value.lower() not in ("true", "false"):
        raise CommandError(f"--feature-gate {text}: write NAME=true or NAME=false")
    return name, value.lower() == "true"

"""manage.py capacity NAME QUESTION: questions about capacity; nothing is written."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml
from django.core.management.base import CommandError, CommandParser

from apps.administration.management.command import USER, ControlPlaneCommand
from apps.administration.management.lab_options import add_options, build_request, describe
from apps.answers import to_json
from apps.cluster.models import Cluster
from apps.scheduler.config import ConfigError
from apps.studies.lab import emptying, fitting, planning
from apps.studies.lab.emptying import find_emptiable_nodes
from apps.studies.lab.failures import simulate_failures
from apps.studies.lab.fitting import count_fitting
from apps.studies.lab.planning import Shape, plan_nodes

QUESTIONS = {
    "fit": "how many more of a pod (--file) fit",
    "nodes": "how many nodes (--shapes) the pods of --file and the pending ones need",
    "emptiable": "which nodes could be emptied",
    "failures": "what happens if a node dies",
}


class Command(ControlPlaneCommand):
    help = "Answer a question about capacity: " + "; ".join(
        f"{name}: {text}" for name, text in QUESTIONS.items()
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_options(parser)
        parser.add_argument("question", choices=QUESTIONS)
        parser.add_argument(
            "--node", action="append", default=[], help="emptiable, failures: only this node"
        )
        parser.add_argument("--limit", type=int, help="fit: copies to try; emptiable: nodes to try")
        parser.add_argument(
            "--shapes",
            help='nodes: YAML, a list of {"name", "node" (a Node manifest), "price"}',
        )
        parser.add_argument(
            "--max-nodes", type=int, default=planning.DEFAULT_NODES, help="nodes: of one shape"
        )

    def run(self, **options: Any) -> None:
        cluster = self.get_cluster(options["name"])
        try:
            answer, sentences = getattr(self, f"_answer_{options['question']}")(cluster, options)
        except ConfigError as error:
            raise describe(error) from error
        if options["json"]:
            self.stdout.write(msgspec.json.encode(to_json(answer)).decode())
            return
        for sentence in sentences:
            self.stdout.write(sentence)

    def _answer_fit(self, cluster: Cluster, options: dict[str, Any]) -> tuple[Any, list[str]]:
        limit = options["limit"] or fitting.DEFAULT_LIMIT
        answer = count_fitting(cluster, build_request(options), limit=limit, user=USER)
        sentences = [f"  {node}: {count:,}" for node, count in answer.nodes.items()]
        more = " or more" if answer.limited else ""
        sentences.append(f"{answer.count:,}{more} copies of {answer.pod} fit.")
        return answer, [*sentences, *filter(None, [answer.sentence])]

    def _answer_nodes(self, cluster: Cluster, options: dict[str, Any]) -> tuple[Any, list[str]]:
        shapes = _read_shapes(options["shapes"])
        plan = plan_nodes(
            cluster, build_request(options), shapes, most=options["max_nodes"], user=USER
        )
        sentences = [
            f"  {each.shape} alone: "
            + ("not enough" if each.nodes is None else f"{each.nodes:,} nodes, cost {each.cost:g}")
            for each in plan.shapes
        ]
        mix = ", ".join(f"{count} {name}" for name, count in (plan.mix or {}).items())
        if plan.mix is None:
            sentences.append("No number of nodes is enough.")
        else:
            sentences.append(f"Cheapest mix found: {mix or 'no new node'}, cost {plan.cost:g}.")
        sentences += [f"  {pod} fits no shape: {why}" for pod, why in plan.impossible.items()]
        return plan, sentences

    def _answer_emptiable(self, cluster: Cluster, options: dict[str, Any]) -> tuple[Any, list[str]]:
        answer = find_emptiable_nodes(
            cluster,
            build_request(options),
            nodes=options["node"],
            limit=options["limit"] or emptying.DEFAULT_NODES,
            user=USER,
        )
        sentences = [
            f"  {each.node}: {len(each.moves):,} pods move"
            if each.can_be_emptied
            else f"  {each.node}: no, {each.blocked_by}: {each.reason}"
            for each in answer.nodes
        ]
        names = ", ".join(answer.together)
        sentences.append(f"Could be emptied at the same time: {names or 'none'}.")
        return answer, sentences

    def _answer_failures(self, cluster: Cluster, options: dict[str, Any]) -> tuple[Any, list[str]]:
        answer = simulate_failures(cluster, build_request(options), options["node"], user=USER)
        sentences = [
            f"  {each.node}: {each.moved:,} pods move, {each.waiting:,} wait, "
            f"{len(each.lost):,} are lost"
            for each in answer.nodes
        ]
        return answer, sentences


def _read_shapes(name: str | None) -> list[Shape]:
    """The shapes of a file; raises CommandError if it is none, or has another form."""
    if not name:
        raise CommandError("--shapes: a file with the shapes of nodes is required")
    try:
        with open(name) as file:
            entries = yaml.safe_load(file)
        return [Shape(str(each["name"]), each["node"], float(each["price"])) for each in entries]
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise CommandError(
            f"--shapes {name}: must be a list of name, node and price: {error!r}"
        ) from error

"""A class on schedweb: a cluster for each student and exercise, checked while it runs.

    classroom.py start CLASS EXERCISE --students students.txt   # a name in each line
    classroom.py check CLASS [--student NAME]                   # what is reached, what is missing
    classroom.py board CLASS [--html FILE]                      # who is where
    classroom.py reset CLASS EXERCISE --student NAME            # back to the start
    classroom.py show EXERCISE                                  # the task
    classroom.py end CLASS                                      # delete its clusters

EXERCISE is the number of a file in `exercises`, or `all`. The installation and a token of a user
who may create clusters are in SCHEDWEB_URL and SCHEDWEB_TOKEN. A student who is a user of the
installation becomes an operator of the student's clusters.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import yaml

EXERCISES = Path(__file__).parent / "exercises"
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?")
#: A class has at most so many students.
MOST_STUDENTS = 200
Body = dict[str, Any]


class ClassError(Exception):
    """What is wrong, in one line."""


def ask(method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
    """The answer of the installation, decoded."""
    address = os.environ.get("SCHEDWEB_URL", "http://localhost:8000").rstrip("/")
    token = os.environ.get("SCHEDWEB_TOKEN", "")
    if not token:
        raise ClassError(
            "SCHEDWEB_TOKEN is not set: manage.py token create --user NAME --name class"
        )
    data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
    try:
        request = Request(address + path, data=data, method=method, headers=headers)
        with urlopen(request, timeout=120) as answer:
            text = answer.read()
    except HTTPError as error:
        message = json.loads(error.read() or b"{}").get("message", error.reason)
        raise ClassError(f"{method} {path}: {message}") from error
    except URLError as error:
        raise ClassError(f"{address} cannot be reached: {error.reason}") from error
    return json.loads(text) if text else None


def read_exercises(choice: str) -> dict[str, Body]:
    """The exercises by number, "01" to "10"."""
    exercises = {
        path.name[:2]: yaml.safe_load(path.read_text()) for path in sorted(EXERCISES.glob("*.yaml"))
    }
    if choice == "all":
        return exercises
    if choice.zfill(2) not in exercises:
        raise ClassError(f"there is no exercise {choice}; there are {', '.join(exercises)} and all")
    return {choice.zfill(2): exercises[choice.zfill(2)]}


def read_students(file: str) -> list[str]:
    """The names in a file, one in each line."""
    try:
        lines = [line.strip() for line in Path(file).read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ClassError(f"--students {file}: {error}") from error
    names = [line for line in lines if line and not line.startswith("#")]
    wrong = [name for name in names if not NAME.fullmatch(name)]
    if wrong:
        raise ClassError(
            f"--students {file}: {wrong[0]!r} must be lower-case letters, digits and '-'"
        )
    if len(set(names)) < len(names) or not 0 < len(names) <= MOST_STUDENTS:
        raise ClassError(f"--students {file}: needs 1 to {MOST_STUDENTS} different names")
    return names


def name_of(group: str, number: str, student: str) -> str:
    return f"{group}-{number}-{student}"


def start(group: str, number: str, exercise: Body, student: str) -> None:
    """Create the cluster of a student with the objects of the exercise."""
    name, spec = name_of(group, number, student), exercise["cluster"]
    ask("POST", "/api/v1/clusters", {"name": name, "tie_break": "first-name", **spec})
    task = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "task"}}
    objects = [task | {"data": {"task": exercise["task"]}}, *exercise.get("objects", [])]
    for patch in exercise.get("nodes", []):
        path = f"/k8s/{name}/api/v1/nodes/{patch['metadata']['name']}"
        ask("PATCH", path, patch, "application/merge-patch+json")
    ask("POST", f"/api/v1/clusters/{name}/import", yaml.safe_dump_all(objects), "application/yaml")
    try:
        ask("POST", f"/api/v1/clusters/{name}/members", {"user": student, "role": "operator"})
    except ClassError:
        print(f"{student} is no user of the installation: give a kubeconfig of {name} instead")


class State:
    """What a cluster has now, as far as checks read it."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.nodes = {each["metadata"]["name"]: each for each in self.read("nodes")}
        self.pods = [
            each
            for each in self.read("namespaces/default/pods")
            if "deletionTimestamp" not in each["metadata"]
        ]

    def read(self, path: str) -> list[Body]:
        items: list[Body] = ask("GET", f"/k8s/{self.cluster}/api/v1/{path}")["items"]
        return items

    def select(self, wanted: Body) -> list[Body]:
        """The pods with a name, or with labels."""
        return [
            each
            for each in self.pods
            if wanted.get("pod", each["metadata"]["name"]) == each["metadata"]["name"]
            and wanted.get("labels", {}).items() <= each["metadata"].get("labels", {}).items()
        ]

    def decisions(self, pod: str, **filters: str) -> list[Body]:
        query = urlencode({"cluster": self.cluster, "pod": f"default/{pod}", **filters})
        decisions: list[Body] = ask("GET", f"/api/v1/decisions?{query}")["results"]
        return decisions


def check(state: State, wanted: Body) -> str:
    """What is missing for a check; "" if it is met."""
    pods = state.select(wanted)
    bound = [each for each in pods if each["spec"].get("nodeName")]
    if "bound" in wanted and len(bound) != wanted["bound"]:
        return f"{len(bound)} of {wanted['bound']} pods have a node"
    if "nodes" in wanted:
        labels = wanted["nodes"]
        for each in bound:
            node = state.nodes[each["spec"]["nodeName"]]
            if not labels.items() <= node["metadata"]["labels"].items():
                return f"{each['metadata']['name']} is on {each['spec']['nodeName']}"
        if not bound:
            return "no pod has a node"
    if "skew" in wanted:
        key = wanted["skew"]["topologyKey"]
        domains = Counter(
            {node["metadata"]["labels"].get(key, ""): 0 for node in state.nodes.values()}
        )
        domains.update(
            state.nodes[each["spec"]["nodeName"]]["metadata"]["labels"].get(key, "")
            for each in bound
        )
        skew = max(domains.values()) - min(domains.values())
        if not bound or skew > wanted["skew"]["atMost"]:
            return f"the skew is {skew}"
    if "has" in wanted:
        for each in pods:
            if not contains(each, wanted["has"]):
                return f"{each['metadata']['name']} is not as asked for"
        if not pods:
            return "there is no such pod"
    if "node" in wanted and not contains(state.nodes[wanted["node"]], wanted["is"]):
        return f"{wanted['node']} is not as asked for"
    if "emptied" in wanted:
        left = [each for each in state.pods if each["spec"].get("nodeName") == wanted["emptied"]]
        if left:
            return f"{left[0]['metadata']['name']} is still on {wanted['emptied']}"
    return check_why(state, wanted["why"]) if "why" in wanted else ""


def check_why(state: State, why: Body) -> str:
    """Compare the answer, in the ConfigMap `answers`, with what the ledger recorded."""
    maps = {each["metadata"]["name"]: each for each in state.read("namespaces/default/configmaps")}
    given = maps.get("answers", {}).get("data", {}).get(why["answer"], "").strip()
    if not given:
        return f"no answer: kubectl create configmap answers --from-literal={why['answer']}=…"
    recorded = state.decisions(why["pod"], result=why.get("result", "unschedulable"))
    if not recorded:
        return f"the ledger has no such decision about {why['pod']}"
    first = recorded[-1]
    match why["field"]:
        case "plugin":
            right = given in first["unschedulable_plugins"][:1]
        case "node":
            right = given == first["node"]
        case "nodes":
            counts = ask("GET", f"/api/v1/decisions/{first['id']}")["refusals"]
            right = given == str(
                sum(each["count"] for each in counts if each["plugin"] == why["plugin"])
            )
        case _:
            raise ClassError(f"{why['field']} is no field of an answer")
    return "" if right else f"{given} is not what the ledger says"


def contains(actual: Any, wanted: Any) -> bool:
    """Whether an object has all that is wanted; of a list, one item for each."""
    if isinstance(wanted, dict):
        return isinstance(actual, dict) and all(
            contains(actual.get(k), v) for k, v in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(actual, list) and all(any(contains(f, w) for f in actual) for w in wanted)
    return bool(actual == wanted)


def results(group: str, student: str = "") -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Of each cluster of a class the student, the exercise, and each check with what is missing."""
    exercises = read_exercises("all")
    clusters = ask("GET", f"/api/v1/clusters?{urlencode({'page_size': 1000})}")
    rows = clusters["results"] if isinstance(clusters, dict) else clusters
    pattern = re.compile(rf"{re.escape(group)}-(\d\d)-(.+)")
    for name in sorted(each["name"] for each in rows):
        match = pattern.fullmatch(name)
        if match and match[1] in exercises and student in ("", match[2]):
            state = State(name)
            checks = exercises[match[1]]["checks"]
            yield match[2], match[1], [(each["say"], check(state, each)) for each in checks]


def show_board(group: str, page: str | None) -> None:
    rows: dict[str, dict[str, str]] = {}
    for student, number, outcomes in results(group):
        done = sum(not missing for _, missing in outcomes)
        rows.setdefault(student, {})[number] = (
            "done" if done == len(outcomes) else f"{done}/{len(outcomes)}"
        )
    numbers = sorted({number for row in rows.values() for number in row})
    width = max([len(name) for name in rows] + [7])
    print("student".ljust(width), *[number.rjust(5) for number in numbers])
    for name, row in sorted(rows.items()):
        print(name.ljust(width), *[row.get(number, "–").rjust(5) for number in numbers])
    if page:
        cells = "".join(f"<th>{number}</th>" for number in numbers)
        body = "".join(
            f"<tr><th>{html.escape(name)}</th>"
            + "".join(f"<td class='{row.get(n, '')}'>{row.get(n, '–')}</td>" for n in numbers)
            + "</tr>"
            for name, row in sorted(rows.items())
        )
        Path(page).write_text(
            "<!doctype html><html lang=en><meta charset=utf-8>"
            "<meta name=viewport content='width=device-width'>"
            "<meta http-equiv=refresh content=10><meta name=color-scheme content='light dark'>"
            f"<title>{html.escape(group)}</title><style>body{{font:1.2rem system-ui;margin:1rem}}"
            "table{border-collapse:collapse}th,td{padding:.4rem .8rem;text-align:center}"
            "tr{border-bottom:1px solid #8888}"
            f".done{{background:#0a07;}}</style><h1>{html.escape(group)}</h1>"
            f"<div style='overflow-x:auto'><table><tr><th>student</th>{cells}</tr>"
            f"{body}</table></div></html>\n"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    actions = parser.add_subparsers(dest="action", required=True)
    for name in ("start", "check", "board", "reset", "show", "end"):
        action = actions.add_parser(name)
        if name != "show":
            action.add_argument("group", metavar="CLASS")
        if name in ("start", "reset", "show"):
            action.add_argument("exercise", metavar="EXERCISE")
        if name == "start":
            action.add_argument("--students", required=True, metavar="FILE")
        if name in ("check", "reset"):
            action.add_argument("--student", required=name == "reset", default="", metavar="NAME")
        if name == "board":
            action.add_argument("--html", metavar="FILE")
    options = parser.parse_args()
    try:
        sys.exit(run(options))
    except ClassError as error:
        sys.exit(f"classroom: {error}")


def run(options: argparse.Namespace) -> int:
    """The exit code: 1 if a check is not met."""
    if options.action == "show":
        for number, exercise in read_exercises(options.exercise).items():
            print(f"{number}. {exercise['title']}\n\n{exercise['task']}")
        return 0
    if not re.fullmatch(r"[a-z][a-z0-9]{0,19}", options.group):
        raise ClassError(f"CLASS {options.group!r} must be up to 20 lower-case letters and digits")
    if options.action == "board":
        show_board(options.group, options.html)
        return 0
    if options.action == "check":
        missing = 0
        for student, number, outcomes in results(options.group, options.student):
            print(f"{student} {number}")
            for say, what in outcomes:
                print(f"  {'ok  ' if not what else 'open'}  {say}" + (f": {what}" if what else ""))
                missing += bool(what)
        return int(missing > 0)
    if options.action == "end":
        for student, number, _ in list(results(options.group)):
            ask("DELETE", f"/api/v1/clusters/{name_of(options.group, number, student)}")
        return 0
    exercises = read_exercises(options.exercise)
    students = [options.student] if options.action == "reset" else read_students(options.students)
    for number, exercise in exercises.items():
        for student in students:
            if options.action == "reset":
                ask("DELETE", f"/api/v1/clusters/{quote(name_of(options.group, number, student))}")
            start(options.group, number, exercise, student)
            print(f"{name_of(options.group, number, student)} is ready")
    return 0


if __name__ == "__main__":
    main()

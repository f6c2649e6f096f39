"""A class on schedweb: a cluster for each student and exercise, checked while it runs.

    classroom.py start CLASS EXERCISE --students students.txt   # a name in each line
    classroom.py check CLASS [--student NAME]                   # what is reached, what is missing
    classroom.py board CLASS                                    # who is where
    classroom.py reset CLASS EXERCISE --student NAME            # back to the start
    classroom.py show EXERCISE                                  # the task
    classroom.py end CLASS                                      # delete its clusters

EXERCISE is the number of a file in `exercises`, or `all`. The installation and a token of a user
who may create clusters are in SCHEDWEB_URL and SCHEDWEB_TOKEN. A student who is a user of the
installation becomes an operator of the student's clusters.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
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


def site() -> str:
    return os.environ.get("SCHEDWEB_URL", "http://localhost:8000").rstrip("/")


def ask(method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
    """The answer of the installation, decoded."""
    address = site()
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


def publish(group: str, exercises: dict[str, Body]) -> None:
    """Create the cluster of the class, whose board is a page of the installation."""
    try:
        ask("POST", "/api/v1/clusters", {"name": group, "nodes": 0, "controllers": False})
    except ClassError as error:
        if "already exists" not in str(error):
            raise
    for number, exercise in exercises.items():
        name = f"exercise-{number}"
        text = yaml.safe_dump(exercise, sort_keys=False, allow_unicode=True)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        path = f"/k8s/{group}/api/v1/namespaces/default/configmaps/{name}"
        query = "?fieldManager=classroom&force=true"
        applied = json.dumps(body | {"data": {"exercise": text}})
        ask("PATCH", path + query, applied, "application/apply-patch+yaml")


def read_board(group: str, student: str = "") -> Body:
    board: Body = ask("GET", f"/api/v1/clusters/{group}/board?{urlencode({'student': student})}")
    return board


def show_board(group: str) -> None:
    board = read_board(group)
    width = max([len(each["name"]) for each in board["students"]] + [7])
    print("student".ljust(width), *[number.rjust(5) for number in board["exercises"]])
    for student in board["students"]:
        reached = {each["exercise"]: each for each in student["attempts"]}
        cells = [shown(reached.get(number)).rjust(5) for number in board["exercises"]]
        print(student["name"].ljust(width), *cells)


def shown(attempt: Body | None) -> str:
    if attempt is None:
        return "–"
    met, checks = attempt["met"], len(attempt["checks"])
    return "done" if met == checks else f"{met}/{checks}"


def show_checks(group: str, student: str) -> int:
    """Print every check; 1 if one is not met."""
    missing = 0
    for each in read_board(group, student)["students"]:
        for attempt in each["attempts"]:
            print(f"{each['name']} {attempt['exercise']}")
            for one in attempt["checks"]:
                what = f": {one['missing']}" if one["missing"] else ""
                print(f"  {'open' if what else 'ok  '}  {one['say']}{what}")
                missing += bool(what)
    return int(missing > 0)


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
        show_board(options.group)
        return 0
    if options.action == "check":
        return show_checks(options.group, options.student)
    if options.action == "end":
        for student in read_board(options.group)["students"]:
            for attempt in student["attempts"]:
                ask("DELETE", f"/api/v1/clusters/{attempt['cluster']}")
        ask("DELETE", f"/api/v1/clusters/{options.group}")
        return 0
    exercises = read_exercises(options.exercise)
    students = [options.student] if options.action == "reset" else read_students(options.students)
    publish(options.group, exercises)
    for number, exercise in exercises.items():
        for student in students:
            if options.action == "reset":
                ask("DELETE", f"/api/v1/clusters/{quote(name_of(options.group, number, student))}")
            start(options.group, number, exercise, student)
            print(f"{name_of(options.group, number, student)} is ready")
    print(f"The board: {site()}/clusters/{options.group}/board")
    return 0


if __name__ == "__main__":
    main()

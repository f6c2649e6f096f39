"""Writes recipes as commands. The token is read from the environment, as `$TOKEN`."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pprint import pformat
from urllib.parse import urlencode

from apps.dashboard.recipes.recipe import Recipe

_PYTHON_HEAD = """\
import os

import requests

headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}"""


@dataclass(frozen=True, slots=True)
class Commands:
    """The same command for three tools; empty for kubectl if it has none."""

    kubectl: str
    curl: str
    python: str


def render_commands(recipe: Recipe, site: str) -> Commands:
    """`site` is the address of the site, without a slash at its end."""
    return Commands(
        f"{_kubectl(recipe)}\n" if recipe.kubectl else "",
        f"{_curl(recipe, site)}\n",
        f"{_PYTHON_HEAD}\n\n{_python(recipe, site)}\n",
    )


def _kubectl(recipe: Recipe) -> str:
    command = shlex.join(["kubectl", *recipe.kubectl])
    if recipe.conditions:
        return f"{command} -o json | {_jq(recipe)}"
    return f"{command} <<'EOF'\n{recipe.stdin.rstrip()}\nEOF" if recipe.stdin else command


def _jq(recipe: Recipe) -> str:
    wanted = " and ".join(f"({each.jq})" for each in recipe.conditions)
    return "jq -r " + shlex.quote(f".items[] | select({wanted}) | .metadata.name")


def _curl(recipe: Recipe, site: str) -> str:
    query = f"?{urlencode(recipe.query)}" if recipe.query else ""
    lines = [f"curl -sS {shlex.quote(site + recipe.path + query)}"]
    if recipe.method != "GET":
        lines[0] = f"curl -sS -X {recipe.method} {shlex.quote(site + recipe.path + query)}"
    lines.append('-H "Authorization: Bearer $TOKEN"')
    if recipe.body is not None:
        lines.append(f"-H 'Content-Type: {_content_type(recipe)}'")
        text = recipe.body if isinstance(recipe.body, str) else json.dumps(recipe.body)
        lines.append(f"--data-binary {shlex.quote(text)}")
    command = " \\\n  ".join(lines)
    return f"{command} | {_jq(recipe)}" if recipe.conditions else command


def _content_type(recipe: Recipe) -> str:
    return "application/yaml" if isinstance(recipe.body, str) else "application/json"


def _python(recipe: Recipe, site: str) -> str:
    arguments = [repr(site + recipe.path)]
    if recipe.query:
        arguments.append(f"params={dict(recipe.query)!r}")
    extra = ""
    if isinstance(recipe.body, str):
        arguments.append(f"data={recipe.body!r}.encode()")
        extra = ' | {"Content-Type": "application/yaml"}'
    elif recipe.body is not None:
        arguments.append(f"json={pformat(recipe.body, indent=1, width=90, sort_dicts=False)}")
    arguments.append(f"headers=headers{extra}")
    call = ",\n    ".join(arguments)
    lines = [
        f"answer = requests.{recipe.method.lower()}(\n    {call},\n)",
        "answer.raise_for_status()",
    ]
    if recipe.conditions:
        wanted = " and ".join(f"({each.python})" for each in recipe.conditions)
        lines.append(
            'for item in answer.json()["items"]:\n'
            f"    if {wanted}:\n"
            '        print(item["metadata"]["name"])'
        )
    else:
        lines.append("print(answer.text)")
    return "\n".join(lines)

"""The commands of "Copy as": what they print is what the page shows or does."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.cluster.models import Node
from apps.engine.models import Operation
from apps.people.tokens import create_token
from tests.dashboard.conftest import create_lab

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = re.compile(
    r'<pre class="code" id="[^"]*-(kubectl|curl|python|link)(?:-\d+)?"[^>]*>(.*?)</pre>', re.DOTALL
)


class Shown:
    """The commands of a page."""

    def __init__(self, client: Client, page: str, form: dict[str, object] | None = None) -> None:
        if form is None:
            answer = client.get(page)
        else:
            answer = client.post(page, {**form, "commands": "1"}, headers={"HX-Request": "true"})
        found = TEXT.findall(answer.content.decode())
        #: what each button copies
        self.copies = [(tool, html.unescape(text)) for tool, text in found]
        #: everything that is shown for a tool
        self.texts = {
            tool: "\n".join(text for other, text in self.copies if other == tool)
            for tool, _ in self.copies
        }

    def run(self, tool: str, token: str) -> str:
        """What the commands print."""
        arguments = ["bash", "-ec"] if tool == "curl" else [sys.executable, "-c"]
        done = subprocess.run(
            [*arguments, self.texts[tool]],
            env={**os.environ, "TOKEN": token},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, self.texts[tool] + done.stderr
        return done.stdout


def test_copied_commands_do_what_the_page_does(site: str) -> None:
    lab = create_lab()
    user = User.objects.create_superuser("alice", password="of wonderland")
    token = create_token(user, "test").key
    client = Client(headers={"Host": site.removeprefix("http://")})
    client.force_login(user)

    pods = Shown(client, "/clusters/lab/pods?state=pending&q=hu")
    assert pods.run("python", token).split() == ["huge"]
    assert 'contains("hu")' in pods.texts["curl"] and "--field-selector" in pods.texts["kubectl"]
    changes = Shown(client, "/clusters/lab/changes?kind=Pod&q=hu")
    found = json.loads(changes.run("curl", token))["results"]
    assert {change["name"] for change in found} == {"huge"} and "kubectl" not in changes.texts
    assert changes.texts["link"] == f"{site}/clusters/lab/changes?kind=Pod&q=hu"
    queue = Shown(client, "/clusters/lab/queue")
    assert '{"pods": ["default/huge"]}' in queue.texts["curl"] and queue.run("python", token)
    activation = Shown(client, "/clusters/lab/profiles/1/activate")
    assert json.loads(activation.run("curl", token))["revision"] == 1
    nodes = Shown(client, "/clusters/lab/nodes?zone=zone-1&state=ready")
    assert nodes.run("python", token).split() == ["gpu-1", "node-0"]
    decisions = Shown(client, "/clusters/lab/decisions?result=unschedulable")
    for tool in ("curl", "python"):
        printed = decisions.run(tool, token)
        assert '"huge"' in printed and '"web-0"' not in printed, tool
    assert "kubectl" not in decisions.texts

    form = {"name": "copied", "cpu": "16", "memory": "64Gi", "pods": "20", "labels": "disk=hdd"}
    new_node = Shown(client, "/clusters/lab/new-node", form)
    assert not Node.objects.filter(cluster=lab, name="copied").exists()
    assert new_node.texts["kubectl"].startswith("kubectl create -f - <<'EOF'\napiVersion: v1")
    new_node.run("curl", token)
    assert Node.objects.get(cluster=lab, name="copied").labels["disk"] == "hdd"
    wrong = Shown(client, "/clusters/lab/new-node", {**form, "cpu": "much"})
    assert not wrong.texts, "a form with errors has no commands"

    overview = Shown(client, "/clusters/lab").copies
    assert all(text.count("curl") == 1 for tool, text in overview if tool == "curl")
    assert sum("-X DELETE" in text for _, text in overview) == 1, "copied only by its own button"

    chosen = {"node": ["node-0", "node-1"], "text": "disk=ssd"}
    actions = Shown(client, "/clusters/lab/change-nodes", chosen)
    assert "kubectl label nodes --overwrite node-0 node-1 disk=ssd" in actions.texts["kubectl"]
    assert "kubectl drain --ignore-daemonsets node-0 node-1" in actions.texts["kubectl"]
    label = next(text for tool, text in actions.copies if tool == "curl" and '"label"' in text)
    subprocess.run(["bash", "-ec", label], env={**os.environ, "TOKEN": token}, check=True)
    assert Operation.objects.get().title == "Label 2 nodes: disk=ssd"
    assert Node.objects.filter(cluster=lab, unschedulable=True).count() == 0

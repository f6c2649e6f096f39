"""Compare custom resources whose versions a webhook converts, on ours and on a real kube-apiserver.

    python -m tools.truth.conversions

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, starts the real one;
without it nothing is compared, and the output says so. Each server gets the same requests and has a
webhook of its own on this machine, which converts, or answers in one of many wrong ways. Responses
are compared as by `tools.truth.exchanges`, and so is what the webhooks were asked. What differs is
written to var/truth/conversions.jsonl.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# ruff: noqa: E402
from tests.api.replay import Replay, first_difference, warnings
from tests.api.webhook_server import WebhookServer
from tools.truth.converting import DEFINITIONS, converter, steps
from tools.truth.servers import our_server, real_server
from tools.truth.table import OUTPUT, Row, heading, real_folder

Body = dict[str, Any]

#: What the webhook has sent, with its keys in another order, and the resolver of this machine.
_RANDOM: Final = re.compile(r"(?<=is missing in ').*?}'| on [\d.]+:53(?=: no such host)")


_VERSION: Final = re.compile(r"conv\.example\.com/v\d")


def _is_listed(expected: Body, actual: Body, step: Body) -> bool:
    """Whether docs/differences.md lists it: lists and watches that wait for no webhook."""
    if expected["status"] == 500 and 400 <= actual["status"] < 500:
        # as in recordings: the client's mistake is an error of the server there
        return not str(expected["body"].get("message", "")).startswith("conversion webhook")
    messages = [
        _VERSION.sub("<version>", str(answer["body"].get("message", "")))
        for answer in (expected, actual)
        if isinstance(answer["body"], dict)
    ]
    if expected["status"] == actual["status"] == 500 and len(set(messages)) == 1:
        # the real server has the object converted in its cache
        return True
    of_many = step["method"] == "GET" and step["path"].partition("?")[0].endswith("/widgets")
    return of_many and step["about"].startswith(("answer: ", "client: ", "storage version"))


@dataclass
class _Side:
    """A server with its webhook."""

    server: Replay
    webhook: WebhookServer

    def answer(self, step: Body) -> Body:
        """What the server answers, and what it has asked of the webhook."""
        if "webhook" in step:
            self.webhook.answers("/convert", converter(step["webhook"]))
        self.webhook.take()
        status, headers, body = self.server.send(step)
        asked = [request for _, request in self.webhook.take()]
        # watch caches of the real server ask, too, after the answer
        asked = asked[:1] if step["about"] == "creations" and "/v2/" in step["path"] else []
        if step["path"].startswith(DEFINITIONS) and step["method"] in ("POST", "PUT", "PATCH"):
            # the real server serves a definition as it was written after a moment
            time.sleep(1.5)
        time.sleep(step.get("pause", 0))
        return {
            "status": status,
            "warnings": warnings(headers),
            "body": self._shown(body),
            "asked": self._shown(asked),
        }

    def _shown(self, value: Any) -> Any:
        text = json.dumps(self.server.normalize(value))
        text = text.replace(self.webhook.url, "<webhook>").replace(self.webhook.authority, "<ca>")
        return json.loads(_RANDOM.sub("", text))


def main() -> int:
    scripts = real_folder()
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    OUTPUT.mkdir(parents=True, exist_ok=True)
    only = sys.argv[1:]
    rows: dict[str, Row] = {}
    with (
        our_server() as ours,
        real_server(scripts, OUTPUT / "real") as real,
        tempfile.TemporaryDirectory() as folder,
        closing(WebhookServer(Path(folder) / "real")) as first,
        closing(WebhookServer(Path(folder) / "ours")) as second,
        (OUTPUT / "conversions.jsonl").open("w") as file,
    ):
        sides = (_Side(real, first), _Side(ours, second))
        for side in sides:
            side.server.variables = {"url": side.webhook.url, "ca": side.webhook.authority}
        for step in steps():
            expected, actual = (side.answer(step) for side in sides)
            row = rows.setdefault(step["about"], Row(step["about"]))
            row.compared += 1
            if expected == actual and not only:
                continue
            where = ""
            if expected != actual and _is_listed(expected, actual, step):
                row.listed += 1
                continue
            if expected != actual:
                where, _, _ = first_difference(expected, actual)
                row.differing.append(where)
            difference = {"where": where, "real": expected, "ours": actual, "step": step}
            print(json.dumps(difference), file=file, flush=True)
    print(heading("conversions"))
    total = Row.of_all("total", rows.values())
    print(*rows.values(), total, sep="\n")
    return total.save("conversions")


if __name__ == "__main__":
    sys.exit(main())

"""The pictures of the README, of the cluster `demo` of a site that runs: `make pictures`.

    python tools/pictures.py --address http://localhost:8000 --password PASSWORD

Draws the queue, a decision and a replay, light and dark, in docs/images.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import APIRequestContext, sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images"
SIZE = {"width": 1280, "height": 800}
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
#: What the replay tries instead.
PACKING = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", default="http://localhost:8000")
    parser.add_argument("--user", default="admin")
    parser.add_argument("--password", required=True)
    options = parser.parse_args()
    program = next(filter(None, map(shutil.which, PROGRAMS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        first = browser.new_context(base_url=options.address)
        page = first.new_page()
        page.goto("/login")
        page.fill("[name=username]", options.user)
        page.fill("[name=password]", options.password)
        page.press("[name=password]", "Enter")
        page.wait_for_url(lambda url: "/login" not in url)
        token = page.evaluate("document.body.getAttribute('hx-headers')")
        paths = find_pages(first.request, json.loads(token))
        for name, path in paths.items():
            for scheme in ("light", "dark"):
                window = browser.new_context(
                    base_url=options.address,
                    storage_state=first.storage_state(),
                    viewport=SIZE,
                    color_scheme=scheme,
                )
                picture = window.new_page()
                answer = picture.goto(path, wait_until="load")
                assert answer is not None and answer.ok, f"{path}: {answer}"
                # parts of a page are loaded after it
                picture.wait_for_timeout(2000)
                picture.screenshot(path=FOLDER / f"{name}-{scheme}.png")
                window.close()
        browser.close()


def find_pages(api: APIRequestContext, headers: dict[str, str]) -> dict[str, str]:
    """Path by name; starts the replay, and waits for it."""
    cluster = "/api/v1/clusters/demo"

    def ask(path: str, body: Any = None) -> Any:
        sent = None if body is None else json.dumps(body)
        kind = {"Content-Type": "application/json"}
        answered = api.fetch(
            path, method="GET" if body is None else "POST", data=sent, headers=headers | kind
        )
        assert answered.ok, f"{path}: {answered.status} {answered.text()}"
        return answered.json()

    decisions = ask(f"{cluster}/decisions?result=scheduled&page_size=100")["results"]
    # one that rejects nodes and compares the others
    best = max(
        decisions,
        key=lambda each: (each["tied_nodes"] == 1, each["nodes"] > each["feasible_nodes"] > 2),
    )
    since = ask(f"{cluster}/past?at=now")["life"]["first"]["at"]
    replay = ask(f"{cluster}/replays", {"since": since, "configuration": PACKING})["id"]
    while ask(f"{cluster}/replays/{replay}")["operation"]["state"] in ("waiting", "running"):
        time.sleep(0.5)
    return {
        "queue": "/clusters/demo/queue",
        "decision": f"/clusters/demo/decisions/{best['id']}",
        "replay": f"/clusters/demo/replays/{replay}",
    }


if __name__ == "__main__":
    main()

"""axe-core on a page, with one look at the contrast of texts that look alike."""

from __future__ import annotations

import json
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

Scheme = Literal["light", "dark"]

SERIOUS = ("serious", "critical")
#: Rules that are less, and hold as well: a list of landmarks with equal names helps nobody.
HELD = ("landmark-unique",)
#: Rules of the second check, which has the same elements in other colors and less space.
SECOND_LOOK = {
    "type": "rule",
    "values": ["color-contrast", "link-in-text-block", "scrollable-region-focusable"],
}
#: Marks texts whose contrast is that of three earlier ones, on this page or one before: contrast is
#: most of the time of axe. They have the same path of tags and classes, and the same colors,
#: opacity and font up to the root. All controls and all texts next to positioned elements, which
#: can lie below or above a text, are checked. Takes and returns how often each look was seen: as
#: JSON, because lists of thousands take Playwright half a second.
MARK_ALIKE = """earlier => {
  const styles = ["color", "backgroundColor", "backgroundImage", "opacity", "fontSize",
    "fontWeight", "textShadow", "filter", "mixBlendMode"]
  const looks = new Map(), beside = new Set(), counts = new Map(JSON.parse(earlier))
  const shorten = text => {
    let [high, low] = [7, 11]
    for (const character of text) {
      high = Math.imul(high ^ character.codePointAt(0), 2654435761)
      low = Math.imul(low ^ character.codePointAt(0), 1597334677)
    }
    return `${high >>> 0}-${low >>> 0}`
  }
  const look = element => {
    if (!element) return ""
    if (!looks.has(element)) {
      const style = getComputedStyle(element)
      const own = styles.map(name => style[name]).join()
      const name = `${element.localName}.${element.getAttribute("class") ?? ""}`
      looks.set(element, shorten(`${look(element.parentElement)}>${name},${own}`))
      const drawn = element.offsetWidth > 1 && element.checkVisibility()
      if (drawn && ["absolute", "fixed", "sticky"].includes(style.position)) {
        beside.add(element.parentElement).add(element.parentElement?.parentElement)
      }
    }
    return looks.get(element)
  }
  const all = [...document.body.querySelectorAll("*")]
  all.forEach(element => element.removeAttribute("data-alike"))
  all.forEach(look)
  const isBeside = element => [element, element.parentElement, element.parentElement.parentElement]
    .some(each => each !== document.body && beside.has(each))
  const text = element => [...element.childNodes]
    .filter(node => node.nodeType === Node.TEXT_NODE).map(node => node.data).join("")
  // shorter texts, icons and hidden texts have no result
  const judged = element => /[\\p{L}\\p{N}]{2}/u.test(text(element)) && element.checkVisibility()
  for (const element of all.filter(judged)) {
    const count = counts.get(look(element)) ?? 0
    counts.set(look(element), count + 1)
    const control = element.closest("button, input, select, textarea, label, [aria-disabled]")
    element.toggleAttribute("data-alike", count >= 3 && !control && !isBeside(element))
  }
  return JSON.stringify([...counts])
}"""
PASS_OVER_ALIKE = """() => axe.configure({
  rules: [{id: "color-contrast", selector: ":not([data-alike])"}]
})"""


#: How often each look of a text was seen, by the hash of what it depends on.
Looks = list[list[Any]]


def find_violations(page: Page, scheme: Scheme, looks: Looks | None = None) -> list[str]:
    """The serious violations of axe-core, with the first element of each.

    `looks` has the texts of pages before this one, and gets those of this page.
    """
    looks = [] if looks is None else looks
    # without rules that read style sheets, none of which is serious
    options: dict[str, Any] = {"resultTypes": ["violations"], "preload": False}
    if scheme == "dark":
        options["runOnly"] = SECOND_LOOK
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)
        page.evaluate(PASS_OVER_ALIKE)
    looks[:] = json.loads(page.evaluate(MARK_ALIKE, json.dumps(looks)))
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]} "
        f"({len(each['nodes'])}; {each['nodes'][0]['failureSummary'][:300]})"
        for each in found
        if each["impact"] in SERIOUS or each["id"] in HELD
    ]

"""Results as JUnit XML, which CI systems read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

Body = Mapping[str, Any]


def write_junit(results: Sequence[Body]) -> str:
    """A test suite for each run, a test case for each expectation; `results` are presented."""
    root = ElementTree.Element("testsuites")
    for result in results:
        for run in result["runs"]:
            root.append(_suite(result["name"], run))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _suite(name: str, run: Body) -> ElementTree.Element:
    outcomes = run["expectations"]
    suite = ElementTree.Element(
        "testsuite",
        name=f"{name} ({run['name']})",
        tests=str(len(outcomes)),
        failures=str(sum(not each["met"] for each in outcomes)),
        errors="0",
        time=str(run["figures"]["processor_seconds"]),
    )
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in run["figures"].items():
        ElementTree.SubElement(properties, "property", name=key, value=str(value))
    for outcome in outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", classname=name, name=outcome["name"], time="0"
        )
        if outcome["met"]:
            ElementTree.SubElement(case, "system-out").text = outcome["message"]
        else:
            ElementTree.SubElement(case, "failure", message=outcome["message"])
    return suite

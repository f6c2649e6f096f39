"""The documentation of the REST API is complete, and a real site answers its examples.

    RECORD_EXAMPLES=1 pytest tests/api/control/test_examples.py

records the responses of calls in `apps/api/control/documentation/examples` that are new or have
another shape.
"""

from __future__ import annotations

import os
import re
from typing import Any

import msgspec
import pytest
import yaml
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

from apps.api.control.documentation import examples
from apps.api.control.documentation.areas import Area
from apps.api.control.documentation.completing import PREFIX
from apps.api.control.documentation.parameters import find_example
from schedweb.front import threads
from tests.api.control.conftest import Api
from tests.api.control.furnishing import furnish

JSON = "application/json"
#: Parameters of which only one can be sent.
MOMENTS = ("at", "version", "decision")
#: parameter -> other parameters that it needs
NEEDED = {"against": {"node": "node-1"}, "name": {"scope": "namespace", "chart": "pods"}}
Operations = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Any:
    return msgspec.json.decode(
        msgspec.json.encode(SchemaGenerator().get_schema(request=None, public=True), enc_hook=str)
    )


@pytest.fixture(scope="module")
def operations(document: Any) -> Operations:
    return {
        f"{method.upper()} {path.removeprefix(PREFIX)}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_every_operation_is_described(document: Any, operations: Operations) -> None:
    assert [tag["name"] for tag in document["tags"]] == [area.title for area in Area]
    assert all(tag["description"] for tag in document["tags"])
    used = {tag for operation in operations.values() for tag in operation["tags"]}
    assert used == {area.title for area in Area}
    summaries: set[tuple[str, str]] = set()
    for name, operation in operations.items():
        (tag,) = operation["tags"]
        assert operation.get("summary") and operation.get("description"), name
        assert (tag, operation["summary"]) not in summaries, name
        summaries.add((tag, operation["summary"]))
        for parameter in operation.get("parameters", []):
            where = f"{name}: {parameter['name']}"
            assert parameter.get("description"), where
            schema = parameter["schema"]
            known = {"example", "enum", "default", "examples"}
            assert known & (parameter.keys() | schema.keys()), f"{where} has no example"
            assert "type" in schema or "$ref" in schema or "enum" in schema, where
    ids = [operation["operationId"] for operation in operations.values()]
    assert len(ids) == len(set(ids))


def test_every_response_and_every_body_has_a_valid_example(
    document: Any, operations: Operations
) -> None:
    assert examples.load_examples().keys() == operations.keys()
    for name, operation in operations.items():
        documented = operation["responses"].keys()
        assert {"401", "429"} <= documented, name
        assert "404" in documented or "{" not in name, f"{name} has no 404"
        assert "400" in documented or "requestBody" not in operation, f"{name} has no 400"
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        contents = [(f"{name} body", body) for body in bodies]
        contents += [(f"{name} {code}", each) for code, each in operation["responses"].items()]
        for where, content in contents:
            assert content.get("content") or where.endswith(" 204"), f"{where} has no content"
            for kind, media in content.get("content", {}).items():
                check_examples(f"{where} {kind}", media, document)


def check_examples(where: str, media: Any, document: Any) -> None:
    """Every example of a body validates against its schema; a binary file has none."""
    schema = media["schema"]
    if schema.get("format") == "binary":
        return
    assert media.get("examples"), f"{where} has no example"
    for example in media["examples"].values():
        check(where, example["value"], schema, document)


def check(where: str, value: Any, schema: Any, document: Any) -> None:
    whole = {**schema, "components": document["components"]}
    found = [error.message for error in Draft202012Validator(whole).iter_errors(value)]
    assert not found, f"{where}: {found}"


@pytest.mark.django_db(transaction=True)
def test_a_real_site_answers_the_calls_as_documented(
    user: User, key: str, document: Any, operations: Operations
) -> None:
    values = furnish(user)
    api = Api(key)
    api.client.raise_request_exception = False
    if os.environ.get("RECORD_EXAMPLES"):
        record(api, values)
        return
    for name, operation in operations.items():
        for call in examples.load_examples()[name]:
            if not call.get("static"):
                answer = send(api, name, call, values)
                compare(f"{name}: {call['title']}", call, answer)
                if answer.status_code in (200, 201, 202):
                    kind = answer.headers["Content-Type"].partition(";")[0]
                    schema = operation["responses"][str(call["status"])]["content"][kind]["schema"]
                    check(name, read(answer), schema, document)
        if name.startswith("GET "):
            send_every_parameter(api, name, operation, values)
    check_common_errors(api, user)


def send_every_parameter(api: Api, name: str, operation: Any, values: dict[str, Any]) -> None:
    """The example of each query parameter is valid."""
    call = examples.load_examples()[name][0]
    known = call.get("query", {})
    described = operation.get("parameters", [])
    for parameter in (each["name"] for each in described if each["in"] == "query"):
        example = find_example(name, parameter, known)
        if example is not None and parameter not in known:
            query = {} if parameter in MOMENTS else known
            query = {**query, parameter: example, **NEEDED.get(parameter, {})}
            answer = send(api, name, {**call, "query": query}, values)
            assert answer.status_code == 200, (name, query, answer.getvalue())


def check_common_errors(api: Api, user: User) -> None:
    """Without a token, without a CSRF token, and beyond the limits of the site."""
    errors = examples.load_common()["errors"]
    assert errors[401]["response"] == Api().get("/clusters").json()
    assert errors[403]["response"] == forbidden(user).json()
    assert errors[429]["response"] == threads.TOO_MANY.decode()


def forbidden(user: User) -> Any:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    return browser.post(f"{PREFIX}/clusters/lab/pause")


def send(api: Api, name: str, call: examples.Call, values: dict[str, Any]) -> Any:
    """Send a call; whatever it writes is rolled back."""
    method, template = name.split()
    path = template.format(**examples.resolve(call["path"], values))
    with transaction.atomic():
        answer = api.client.generic(
            method,
            PREFIX + path,
            encode(call.get("body")),
            content_type=call.get("type", JSON),
            headers=api.headers,
            query_params=encode_query(examples.resolve(call.get("query", {}), values)),
        )
        if answer.streaming:
            # the rows are read before the rollback
            answer = HttpResponse(
                answer.getvalue(), status=answer.status_code, headers=dict(answer.headers)
            )
        transaction.set_rollback(True)
    return answer


def encode_query(query: dict[str, Any]) -> dict[str, str]:
    """The parameters of a query as text; booleans are written as in JSON."""
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in query.items()
    }


def encode(body: Any) -> bytes:
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)


def read(answer: Any) -> Any:
    kind = answer.headers["Content-Type"].partition(";")[0]
    text = answer.getvalue().replace(b"http://testserver", b"http://localhost:8000")
    return msgspec.json.decode(text) if kind == JSON else text.decode()


def compare(where: str, call: examples.Call, answer: Any) -> None:
    """An error is the documented one but for numbers; a success has the documented shape."""
    assert answer.status_code == call["status"], (where, answer.getvalue())
    if "response" not in call:
        assert answer.status_code == 204, where
        return
    found = read(answer)
    if call["status"] >= 400:
        assert blur(found) == blur(call["response"]), where
    else:
        assert shape(found) == shape(call["response"]), where


def blur(value: Any) -> str:
    return re.sub(r"\d+", "#", msgspec.json.encode(value).decode())


def shape(value: Any) -> Any:
    """The names of a value's fields, and of the first element of its lists."""
    match value:
        case dict():
            return {name: shape(each) for name, each in value.items()}
        case list():
            return [shape(value[0])] if value else []
    return None


def record(api: Api, values: dict[str, Any]) -> None:
    """Write the responses that are missing, or no longer as recorded, to their files."""
    unexpected, changed = [], set()
    for path in sorted(examples.FOLDER.glob("*.yaml")):
        if path == examples.COMMON:
            continue
        known = yaml.safe_load(path.read_bytes())
        for name, calls in known.items():
            for call in calls:
                if call.get("static"):
                    continue
                answer = send(api, name, examples.complete(call, calls[0]), values)
                if is_recorded(call, answer):
                    continue
                if answer.status_code != call["status"]:
                    unexpected.append((name, call["title"], answer.status_code, read(answer)))
                elif answer.status_code != 204:
                    call["response"] = read(answer)
                    kind = answer.headers["Content-Type"].partition(";")[0]
                    call |= {"response_type": kind} if kind != JSON else {}
                    changed.add(path)
        if path in changed:
            write(path, known)
    # the other recorded responses have the values of their time
    kept = {**values, **examples.load_common()["values"]}
    write(examples.COMMON, {"values": kept, "errors": common_errors()})
    assert not unexpected


def is_recorded(call: examples.Call, answer: Any) -> bool:
    """Whether the response of the file is still right: numbers and times may be others."""
    try:
        compare("", call, answer)
    except AssertionError:
        return False
    return True


def common_errors() -> dict[int, Any]:
    """The errors of every operation, with their responses."""
    errors: dict[int, Any] = examples.load_common()["errors"]
    user = User.objects.get(username="alice")
    errors[401]["response"] = Api().get("/clusters").json()
    errors[403]["response"] = forbidden(user).json()
    errors[429]["response"] = threads.TOO_MANY.decode()
    return errors


class _Dumper(yaml.SafeDumper):
    """Text of several lines as a block; no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> Any:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def write(path: Any, content: Any) -> None:
    path.write_text(yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=100))

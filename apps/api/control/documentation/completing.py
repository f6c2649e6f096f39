"""Completes the OpenAPI document: areas, parameters, errors, and the recorded examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from apps.api.control.documentation import parameters
from apps.api.control.documentation.areas import Area
from apps.api.control.documentation.examples import Call, load_common, load_examples, resolve

PREFIX: Final = "/api/v1"
_JSON: Final = "application/json"
_SCHEMAS: Final = "#/components/schemas/"
_ERROR: Final = {"$ref": f"{_SCHEMAS}Error"}
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")
_UNSAFE: Final = ("post", "put", "patch", "delete")
_MEANINGS: Final = {
    200: "Success.",
    201: "Created.",
    202: "Accepted: the work continues after the response.",
    204: "Success; the response has no body.",
    400: "The body or a parameter is invalid; nothing was written.",
    401: "The request has no valid token and no session.",
    403: "The user may not do this, or the request of a browser lacks its CSRF token.",
    404: "What the address names does not exist.",
    409: "The request conflicts with the present state.",
    410: "The change log no longer reaches back so far.",
    422: "A value is invalid; every error is a cause.",
    429: "The site has too many requests in hand; send it again after `Retry-After` seconds.",
    501: "The site lacks a package that this needs.",
    504: "The query took too long; select fewer rows.",
}


def complete_document(result: Any, **context: Any) -> Any:
    """The hook of drf-spectacular: *result* is the OpenAPI document."""
    result["tags"] = [{"name": each.title, "description": each.description} for each in Area]
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            calls = load_examples().get(f"{method.upper()} {path.removeprefix(PREFIX)}", [])
            _describe_parameters(path, operation, calls)
            _omit_forms(operation)
            _describe_errors(operation)
            _add_common_errors(method, operation)
            for number, call in enumerate(calls, 1):
                _add_example(operation, f"example-{number}", call)
            _describe_responses(operation)
    return _publish_names(result)


def _publish_names(result: Any) -> Any:
    """Name schemas without the underscore of their classes: generated clients drop it."""
    schemas = result["components"]["schemas"]
    names = {name: name.lstrip("_") for name in schemas}
    assert len(set(names.values())) == len(names), "two schemas have one name without underscores"
    result["components"]["schemas"] = {names[name]: schemas[name] for name in schemas}
    return _renamed(result, {f"{_SCHEMAS}{old}": f"{_SCHEMAS}{new}" for old, new in names.items()})


def _renamed(part: Any, references: Mapping[str, str]) -> Any:
    if isinstance(part, dict):
        return {
            key: references.get(value, value)
            if key == "$ref" and isinstance(value, str)
            else _renamed(value, references)
            for key, value in part.items()
        }
    if isinstance(part, list):
        return [_renamed(item, references) for item in part]
    return part


def _describe_parameters(path: str, operation: Any, calls: list[Call]) -> None:
    values = load_common()["values"]
    first = calls[0] if calls else {}
    for parameter in operation.get("parameters", []):
        name = parameter["name"]
        if parameter["in"] == "path":
            parameter["example"] = resolve(first.get("path", {}), values).get(name)
            continue
        parameter.setdefault("description", parameters.DESCRIPTIONS.get(name, ""))
        example = parameters.find_example(path, name, first.get("query", {}))
        if example is not None:
            _add_parameter_example(parameter, resolve(example, values))


def _add_parameter_example(parameter: Any, example: Any) -> None:
    """The schema has the example: Swagger UI would send an example of the parameter itself."""
    parameter["schema"]["examples"] = [example]
    if parameter.get("required"):
        parameter["example"] = example
    elif "enum" not in parameter["schema"] and "`" not in parameter["description"]:
        text = example if isinstance(example, str) else msgspec.json.encode(example).decode()
        parameter["description"] += f" Example: `{text}`"


def _omit_forms(operation: Any) -> None:
    """Describe JSON bodies only as JSON; the framework reads forms as well."""
    content = operation.get("requestBody", {}).get("content", {})
    for kind in _FORMS:
        content.pop(kind, None)


def _describe_errors(operation: Any) -> None:
    """Errors are JSON, whatever the format of a success."""
    for code, response in operation["responses"].items():
        if int(code) >= 400:
            response["content"] = {_JSON: {"schema": _ERROR}}


def _add_common_errors(method: str, operation: Any) -> None:
    for code, error in load_common()["errors"].items():
        if code == 403 and method not in _UNSAFE:
            continue
        _add_example(operation, "example-0", {"status": code, **error})


def _add_example(operation: Any, key: str, call: Call) -> None:
    """Add a call as an example of the response, and of the request if it succeeds."""
    values = load_common()["values"]
    if "response" in call:
        kind = call.get("response_type", _JSON)
        response = operation["responses"].setdefault(str(call["status"]), {})
        if call["status"] >= 400:
            schema = _ERROR if kind == _JSON else {"type": "string"}
            response.setdefault("content", {}).setdefault(kind, {"schema": schema})
        if kind in response.get("content", {}):
            examples = response["content"][kind].setdefault("examples", {})
            examples[key] = {"summary": call["title"], "value": _first_document(call["response"])}
    if "body" in call and call["status"] < 400:
        media = operation["requestBody"]["content"][call.get("type", _JSON)]
        value = resolve(call["body"], values)
        media.setdefault("examples", {})[key] = {"summary": call["title"], "value": value}


def _first_document(response: Any) -> Any:
    """Swagger UI shows no example of a stream of YAML documents."""
    if not isinstance(response, str) or not response.startswith("---\n"):
        return response
    first, _, others = response.removeprefix("---\n").partition("\n---\n")
    return f"{first}\n" if others else response


def _describe_responses(operation: Any) -> None:
    ordered = sorted(operation["responses"].items())
    for code, response in ordered:
        if not response.get("description"):
            response["description"] = _MEANINGS[int(code)]
    operation["responses"] = dict(ordered)

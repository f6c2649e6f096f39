"""Texts: YAML and JSON, as Kubernetes reads them."""

from __future__ import annotations

import pytest

from apps.scheduler.config import ConfigError, load
from apps.scheduler.config.durations import DurationError, format_duration, parse_duration
from apps.scheduler.config.reading import read
from apps.scheduler.plugins.registry import TABLE

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def refusal(text: str | bytes) -> ConfigError:
    with pytest.raises(ConfigError) as refused:
        read(text)
    return refused.value


def test_a_key_given_twice_is_refused_with_its_line() -> None:
    error = refusal(HEAD + "parallelism: 1\nprofiles: []\nparallelism: 2\n")
    assert [tuple(cause) for cause in error.causes] == [
        ("parallelism", 'line 5: key "parallelism" already set in map')
    ]


def test_all_repeated_keys_are_told_also_in_json() -> None:
    error = refusal('{"a": 1, "a": 2, "b": {"c": 1, "c": 1}}')
    assert {cause.field for cause in error.causes} == {"a", "c"}


def test_json_is_read() -> None:
    assert read('{"a": [1, 2.5, true, null, "x"]}') == {"a": [1, 2.5, True, None, "x"]}


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("2024-01-01", "2024-01-01"),
        ("1:30", "1:30"),
        ("0x10", 16),
        ("010", 8),
        ("0o10", 8),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("-.5", -0.5),
        ("yes", True),
        ("off", False),
        ("~", None),
        ("'1'", "1"),
    ],
)
def test_scalars_mean_what_they_mean_to_kubernetes(scalar: str, value: object) -> None:
    assert read(f"a: {scalar}") == {"a": value}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("# nothing\n---\n", "is empty"),
        ("a: 1\n---\na: 2\n", "has 2 documents, not one"),
        ("- a\n", "does not hold an object"),
        ("a: [", "cannot be read as YAML or JSON"),
        ("a: !!python/object:os.system {}", "cannot be read as YAML or JSON"),
        (b"\xff\xfe\xff", "cannot be read as YAML or JSON"),
        ("a: " + "9" * 5000, "cannot be read as YAML or JSON"),
        ("[" * 100_000, "cannot be read as YAML or JSON"),
        ("a: &a [*a]", "a value contains itself"),
        ("a: &a {b: *a}", "a value contains itself"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str | bytes, said: str) -> None:
    assert said in str(refusal(text))


@pytest.mark.parametrize(
    ("begin", "twice"), [("x", "[*{0}, *{0}]"), ("{b: c}", "{{<<: [*{0}, *{0}]}}")]
)
def test_aliases_cannot_be_made_to_explode(begin: str, twice: str) -> None:
    lines = [f"a0: &a0 {begin}"]
    lines += [f"a{i}: &a{i} {twice.format(f'a{i - 1}')}" for i in range(1, 60)]
    assert "more than 100000 values" in str(refusal("\n".join(lines)))


def test_a_message_does_not_repeat_a_whole_file() -> None:
    with pytest.raises(ConfigError) as refused:
        load(HEAD + f"profiles: {'x' * 10_000}\n", TABLE)
    assert len(str(refused.value)) < 600


def test_anchors_and_merge_keys_may_be_used() -> None:
    text = HEAD + (
        "profiles:\n"
        "- &base\n"
        "  schedulerName: a\n"
        "  percentageOfNodesToScore: 50\n"
        "- <<: *base\n"
        "  schedulerName: b\n"
    )
    configuration = load(text, TABLE)
    assert [(p.scheduler_name, p.percentage_of_nodes_to_score) for p in configuration.profiles] == [
        ("a", 50),
        ("b", 50),
    ]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("15s", 15.0),
        ("1h15m30.5s", 4530.5),
        ("-1.5h", -5400.0),
        ("+250ms", 0.25),
        ("1us", 1e-6),
        ("1µs", 1e-6),
        (".5s", 0.5),
        ("1.s", 1.0),
    ],
)
def test_durations_are_gos(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "1", "s", "1 s", "1d", "1s ", "--1s", "1e3s", "9999999999999h"]
)
def test_what_is_no_duration_to_go_is_refused(text: str) -> None:
    with pytest.raises(DurationError):
        parse_duration(text)


@pytest.mark.parametrize(("seconds", "text"), [(600.0, "600s"), (0.1, "0.1s"), (0.0, "0s")])
def test_durations_are_written_in_seconds(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text

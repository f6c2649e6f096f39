"""Quantities and semantic versions."""

from __future__ import annotations

import pytest

from tests.cel.evaluating import evaluate, problem_of

VALUES = [
    ("isQuantity('1.3G') && isQuantity('10Mi') && isQuantity('-1k') && isQuantity('1e3')", True),
    ("isQuantity('1.3 G') || isQuantity('') || isQuantity('10 000m')", False),
    ("quantity('1Gi') == quantity('1024Mi')", True),
    ("quantity('1G') == quantity('1Gi')", False),
    ("quantity('50M').compareTo(quantity('50Mi'))", -1),
    ("quantity('50M').compareTo(quantity('50M'))", 0),
    ("quantity('50Mi').compareTo(quantity('50M'))", 1),
    ("quantity('1k').isGreaterThan(quantity('999'))", True),
    ("quantity('1k').isLessThan(quantity('1000'))", False),
    ("sign(quantity('-50k'))", -1),
    ("sign(quantity('0'))", 0),
    ("sign(quantity('1m'))", 1),
    ("quantity('50k').isInteger() && quantity('1e3').isInteger()", True),
    ("quantity('50m').isInteger()", False),
    ("quantity('50k').asInteger()", 50_000),
    ("quantity('1.5k').asInteger()", 1_500),
    ("quantity('50m').asApproximateFloat()", 0.05),
    ("quantity('1Ki').asApproximateFloat()", 1024.0),
    ("quantity('50k').add(quantity('20')) == quantity('50020')", True),
    ("quantity('50k').add(20) == quantity('50020')", True),
    ("quantity('50k').sub(quantity('20')) == quantity('49980')", True),
    ("quantity('50k').sub(-20) == quantity('50020')", True),
    ("quantity('20').sub(quantity('50')).asInteger()", -30),
    ("[quantity('1'), quantity('2')].exists(q, q == quantity('2000m'))", True),
    ("type(quantity('1')) == type(quantity('2'))", True),
    # versions
    ("isSemver('1.0.0') && isSemver('1.2.3-alpha.1+build.5')", True),
    ("isSemver('1.0') || isSemver('v1.0.0') || isSemver('01.0.0') || isSemver('hello')", False),
    ("isSemver('v1.0', true) && isSemver('01.2', true) && isSemver('1', true)", True),
    ("isSemver('1.2.3.4', true)", False),
    ("semver('1.2.3').major()", 1),
    ("semver('1.2.3').minor()", 2),
    ("semver('1.2.3-rc.1').patch()", 3),
    ("semver('v1.2', true) == semver('1.2.0')", True),
    ("semver('v01.02.03-rc', true) == semver('1.2.3-rc')", True),
    ("semver('1.2.3').compareTo(semver('1.2.3'))", 0),
    ("semver('1.2.3').compareTo(semver('1.10.0'))", -1),
    ("semver('2.0.0').isGreaterThan(semver('1.99.99'))", True),
    ("semver('1.0.0-alpha').isLessThan(semver('1.0.0'))", True),
    ("semver('1.0.0-alpha').isLessThan(semver('1.0.0-alpha.1'))", True),
    ("semver('1.0.0-2').isLessThan(semver('1.0.0-10'))", True),
    ("semver('1.0.0-9').isLessThan(semver('1.0.0-alpha'))", True),
    ("semver('1.0.0+a').compareTo(semver('1.0.0+b'))", 0),
]

ERRORS = [
    (
        "quantity('x') == quantity('1')",
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    ("quantity('50m').asInteger()", "cannot convert value to integer"),
    ("dyn(1).compareTo(quantity('1'))", "no such overload: compareTo(int, kubernetes.Quantity)"),
    ("dyn(quantity('1')) == 1", "no such overload"),
    ("semver('1.0-rc', true).major()", "short version cannot contain PreRelease/Build meta data"),
    ("semver('1.0').major()", "No Major.Minor.Patch elements found"),
    ("semver('').major()", "Version string empty"),
    ("semver('01.0.0').major()", 'Major number must not contain leading zeroes "01"'),
    ("semver('1.a.0').major()", 'Invalid character(s) found in minor number "a"'),
    ("semver('1.0.0-').major()", "Prerelease is empty"),
    (
        "semver('1.0.0-01').major()",
        'Numeric PreRelease version must not contain leading zeroes "01"',
    ),
    ("semver('1.0.0-a_b').major()", 'Invalid character(s) found in prerelease "a_b"'),
    ("semver('1.0.0+').major()", "Build meta data is empty"),
    ("semver('1.0.0+a_b').major()", 'Invalid character(s) found in build meta data "a_b"'),
]

PROBLEMS = [
    (
        "quantity(1) == quantity('1')",
        "1:9: found no matching overload for 'quantity' applied to '(int)'",
    ),
    (
        "quantity('1') < quantity('2')",
        "1:15: found no matching overload for '_<_' applied to '(kubernetes.Quantity, "
        "kubernetes.Quantity)'",
    ),
    (
        "quantity('1') + 1 == quantity('2')",
        "1:15: found no matching overload for '_+_' applied to '(kubernetes.Quantity, int)'",
    ),
    (
        "quantity('1').compareTo(semver('1.0.0')) == 0",
        "1:24: found no matching overload for 'compareTo' applied to "
        "'kubernetes.Quantity.(kubernetes.Semver)'",
    ),
    (
        "quantity('1').sign() == 1",
        "1:19: found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
    ),
    ("semver('1.0.0').major == 1", "1:16: unexpected failed resolution of 'kubernetes.Semver'"),
    (
        "semver('1.0.0', 'yes').major() == 1",
        "1:7: found no matching overload for 'semver' applied to '(string, string)'",
    ),
]


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_values(expression: str, value: object) -> None:
    assert evaluate(expression) == value


@pytest.mark.parametrize(("expression", "error"), ERRORS)
def test_errors(expression: str, error: str) -> None:
    assert evaluate(expression) == error


@pytest.mark.parametrize(("expression", "problem"), PROBLEMS)
def test_what_the_compiler_refuses(expression: str, problem: str) -> None:
    assert problem_of(expression) == problem

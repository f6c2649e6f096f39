"""URLs, IP addresses and networks."""

from __future__ import annotations

import pytest

from tests.cel.evaluating import evaluate, problem_of

VALUES = [
    # URLs
    ("isURL('https://example.com:8443/a?b=c') && isURL('/path') && isURL('mailto:a@b')", True),
    ("isURL('example.com/a') || isURL('') || isURL('https://a:b:c/')", False),
    ("url('https://user@example.com:80/').getHost()", "example.com:80"),
    ("url('https://example.com:80/').getHostname()", "example.com"),
    ("url('https://[::1]:80/').getHost()", "[::1]:80"),
    ("url('https://[::1]:80/').getHostname()", "::1"),
    ("url('https://example.com:80/').getPort()", "80"),
    ("url('https://example.com/').getPort()", ""),
    ("url('https://example.com/').getScheme()", "https"),
    ("url('/path').getScheme()", ""),
    ("url('/path').getHost()", ""),
    ("url('https://example.com/with space/').getEscapedPath()", "/with%20space/"),
    ("url('https://example.com/a%2Fb').getEscapedPath()", "/a%2Fb"),
    ("url('https://example.com').getEscapedPath()", ""),
    ("url('https://example.com/?a=1&b=2&a=3').getQuery()", {"a": ["1", "3"], "b": ["2"]}),
    ("url('https://example.com/?k1=a%20b&k2').getQuery()", {"k1": ["a b"], "k2": [""]}),
    ("url('https://example.com/').getQuery()", {}),
    ("url('https://a/') == url('https://a/')", True),
    # addresses
    ("isIP('127.0.0.1') && isIP('::1') && isIP('::')", True),
    ("isIP('127.0.0.256') || isIP('fe80::1%en0') || isIP('01.2.3.4') || isIP('')", False),
    ("isIP('::ffff:1.2.3.4')", False),
    ("ip('1.2.3.4') == ip('1.2.3.4')", True),
    ("ip('::1') == ip('0:0:0:0:0:0:0:1')", True),
    ("string(ip('0:0:0:0:0:0:0:1'))", "::1"),
    ("ip('1.2.3.4').family()", 4),
    ("ip('2001:db8::1').family()", 6),
    ("ip.isCanonical('2001:db8::abcd')", True),
    ("ip.isCanonical('2001:DB8::ABCD')", False),
    ("ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified()", True),
    (
        "ip('127.0.0.1').isLoopback() && ip('127.9.9.9').isLoopback() && ip('::1').isLoopback()",
        True,
    ),
    ("ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", True),
    ("ip('224.0.1.1').isLinkLocalMulticast() || ip('ff05::1').isLinkLocalMulticast()", False),
    ("ip('169.254.169.254').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()", True),
    ("ip('192.168.0.1').isLinkLocalUnicast()", False),
    ("ip('192.168.0.1').isGlobalUnicast() && ip('2001:db8::1').isGlobalUnicast()", True),
    ("ip('255.255.255.255').isGlobalUnicast() || ip('224.0.0.1').isGlobalUnicast()", False),
    # networks
    ("isCIDR('192.168.0.0/24') && isCIDR('192.168.0.1/24') && isCIDR('::1/128')", True),
    ("isCIDR('192.168.0.0/33') || isCIDR('192.168.0.0') || isCIDR('::ffff:1.2.3.4/24')", False),
    ("cidr('192.168.0.0/24').containsIP('192.168.0.254')", True),
    ("cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))", False),
    ("cidr('192.168.0.0/24').containsIP('::1')", False),
    ("cidr('192.168.0.0/24').containsCIDR('192.168.0.0/25')", True),
    ("cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/23'))", False),
    ("cidr('192.168.0.0/24').containsCIDR('10.0.0.0/25')", False),
    ("cidr('0.0.0.0/0').containsCIDR('::/0')", False),
    ("cidr('192.168.1.5/24').ip() == ip('192.168.1.5')", True),
    ("cidr('192.168.1.5/24').ip().family()", 4),
    ("cidr('192.168.1.5/24').masked() == cidr('192.168.1.0/24')", True),
    ("cidr('192.168.1.5/24') == cidr('192.168.1.0/24')", False),
    ("cidr('192.168.1.5/24').prefixLength()", 24),
    ("string(cidr('192.168.1.5/24'))", "192.168.1.5/24"),
]

_ADDRESS = 'IP Address "{0}" parse error during conversion from string: ParseAddr("{0}"): '
_NETWORK = 'network address parse error during conversion from string: netip.ParsePrefix("{0}"): '

ERRORS = [
    (
        "url('a').getHost()",
        'URL parse error during conversion from string: parse "a": invalid URI for request',
    ),
    ("ip('127.0.0.256').family()", _ADDRESS.format("127.0.0.256") + "IPv4 field has value >255"),
    ("ip('1.2.3').family()", _ADDRESS.format("1.2.3") + "IPv4 address too short"),
    ("ip('1.2.3.4.5').family()", _ADDRESS.format("1.2.3.4.5") + "IPv4 address too long"),
    (
        "ip('01.2.3.4').family()",
        _ADDRESS.format("01.2.3.4") + "IPv4 field has octet with leading zero",
    ),
    (
        "ip('1.2.3.').family()",
        _ADDRESS.format("1.2.3.") + 'IPv4 field must have at least one digit (at ".")',
    ),
    ("ip('1.2.x.4').family()", _ADDRESS.format("1.2.x.4") + 'unexpected character (at "x.4")'),
    ("ip('x').family()", _ADDRESS.format("x") + "unable to parse IP"),
    ("ip('fe80::1%en0').family()", 'IP address "fe80::1%en0" with zone value is not allowed'),
    ("ip('::ffff:1.2.3.4').family()", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
    ("ip.isCanonical('x')", _ADDRESS.format("x") + "unable to parse IP"),
    ("cidr('10.0.0.0').prefixLength()", _NETWORK.format("10.0.0.0") + "no '/'"),
    (
        "cidr('10.0.0.0/33').prefixLength()",
        _NETWORK.format("10.0.0.0/33") + "prefix length out of range",
    ),
    (
        "cidr('10.0.0.0/08').prefixLength()",
        _NETWORK.format("10.0.0.0/08") + 'bad bits after slash: "08"',
    ),
    ("cidr('10.0.0.0/8').containsIP('x')", "no such overload"),
    ("dyn(ip('1.2.3.4')) == '1.2.3.4'", "no such overload"),
]

PROBLEMS = [
    ("url(1).getHost() == ''", "1:4: found no matching overload for 'url' applied to '(int)'"),
    ("url('https://a').getHost == ''", "1:17: unexpected failed resolution of 'kubernetes.URL'"),
    ("ip(1).family() == 4", "1:3: found no matching overload for 'ip' applied to '(int)'"),
    (
        "ip('::1').prefixLength() == 1",
        "1:23: found no matching overload for 'prefixLength' applied to 'net.IP.()'",
    ),
    (
        "cidr('::/0').containsIP(1)",
        "1:24: found no matching overload for 'containsIP' applied to 'net.CIDR.(int)'",
    ),
    (
        "cidr('::/0').containsCIDR(ip('::'))",
        "1:26: found no matching overload for 'containsCIDR' applied to 'net.CIDR.(net.IP)'",
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

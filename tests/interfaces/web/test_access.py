"""Who may ask, decided by headers alone."""

from __future__ import annotations

import pytest

from orca.errors import ConfigError
from orca.interfaces.web.access import SESSION_SECONDS, Access, is_loopback
from orca.interfaces.web.limits import MAX_CLIENTS, Rate, RateLimiter
from orca.interfaces.web.pages.signing import local_path


def access(host: str = "127.0.0.1", token: str | None = None, **more: object) -> Access:
    return Access(host=host, port=8420, token=token, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    assert not access(host).needs_token


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", "localhost.example.com", ""])
def test_any_other_address_does(host: str) -> None:
    with pytest.raises(ConfigError, match="--token"):
        access(host)
    assert access(host, "t").needs_token


@pytest.mark.parametrize("token", ["", " ", " t", "t\n", "令牌", "t\x00"])
def test_a_token_can_stand_in_a_header(token: str) -> None:
    with pytest.raises(ConfigError):
        access(token=token)


@pytest.mark.case(9)
@pytest.mark.parametrize(
    "header",
    ["127.0.0.1", "127.0.0.1:8420", "localhost:8420", "LocalHost", "[::1]:8420", "127.0.0.1:9999"],
)
def test_loopback_goes_by_its_own_names(header: str) -> None:
    assert access().allows_host(header)


@pytest.mark.case(9)
@pytest.mark.parametrize(
    "header",
    [
        None, "", "evil.example", "evil.example:8420", "localhost.evil.example", "127.0.0.1.evil.example",
        "127.0.0.1@evil.example", "evil.example#127.0.0.1", "10.0.0.1", "0.0.0.0", "localhost:", "[::1", "a b",
        "127.0.0.1:8420, evil.example", "localhost.",
    ],
)  # fmt: skip
def test_and_by_no_other(header: str | None) -> None:
    assert not access().allows_host(header)


def test_beyond_loopback_addresses_and_named_hosts_are_fine_and_other_names_are_not() -> None:
    open_to_all = access("0.0.0.0", "t", allowed_hosts=["Memory.Example"])
    assert open_to_all.allows_host("192.168.1.5:8420")
    assert open_to_all.allows_host("memory.example")
    assert not open_to_all.allows_host("evil.example")


@pytest.mark.parametrize(
    ("origin", "same"),
    [
        (None, True),
        ("http://127.0.0.1:8420", True),
        ("https://127.0.0.1:8420", True),  # through a proxy that speaks TLS
        ("ftp://127.0.0.1:8420", False),
        ("http://127.0.0.1:9999", False),
        ("http://localhost:8420", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
        ("http://127.0.0.1:8420\\@evil.example", False),
    ],
)
def test_origin(origin: str | None, same: bool) -> None:
    assert access().same_origin(origin, host="127.0.0.1:8420", scheme="http") is same


def test_a_session_is_trusted_after_sign_in_only_and_not_for_ever() -> None:
    now = 1e9
    guarded = access(token="t", now=lambda: now)
    guest = guarded.visitor(cookie=None, authorization=None)
    assert not guest.trusted
    again = guarded.visitor(cookie=guest.cookie, authorization=None)
    assert (again.cookie, again.csrf_token, again.trusted) == (None, guest.csrf_token, False)
    cookie = guarded.sign_in()
    assert guarded.visitor(cookie=cookie, authorization=None).signed_in
    now += SESSION_SECONDS + 1
    assert not guarded.visitor(cookie=cookie, authorization=None).trusted


def test_cookies_of_others_are_worth_nothing() -> None:
    guarded = access(token="t")
    cookie = guarded.sign_in()
    guest = guarded.visitor(cookie=None, authorization=None).cookie or ""
    raised = guest.replace("guest", "user", 1)
    for forged in (
        access(token="t").sign_in(),
        raised,
        cookie[:-1],
        cookie + "0",
        "..",
        "",
        "user.x.1.",
        "\xff",
    ):
        assert not guarded.visitor(cookie=forged, authorization=None).trusted


@pytest.mark.parametrize("given", ["Bearer t", "bearer t", "BEARER  t "])
def test_bearer(given: str) -> None:
    assert access(token="t").visitor(cookie=None, authorization=given).bearer


@pytest.mark.parametrize("given", ["Bearer", "Bearer ", "Bearer tt", "Basic t", "t", "Bearer \xff"])
def test_no_bearer(given: str) -> None:
    assert not access(token="t").visitor(cookie=None, authorization=given).trusted


def test_without_a_token_no_bearer_is_right() -> None:
    assert not access().visitor(cookie=None, authorization="Bearer t").bearer


def test_the_csrf_token_belongs_to_its_session() -> None:
    guarded = access()
    one, other = (guarded.visitor(cookie=None, authorization=None) for _ in range(2))
    assert guarded.right_csrf_token(one, one.csrf_token)
    for given in (other.csrf_token, None, "", "\xff"):
        assert not guarded.right_csrf_token(one, given)
    bearer = access(token="t").visitor(cookie=None, authorization="Bearer t")
    assert not guarded.right_csrf_token(bearer, "")


def test_a_rate_refills_and_clients_are_forgotten() -> None:
    now = 0.0
    limiter = RateLimiter(Rate(burst=2, per_second=0.5), clock=lambda: now)
    for _ in range(2):
        assert limiter.wait("a") == 0
        limiter.take("a")
    assert limiter.wait("a") == 2
    assert limiter.wait("b") == 0
    now = 2.0
    assert limiter.wait("a") == 0
    for number in range(MAX_CLIENTS + 1):
        limiter.take(str(number))
    assert len(limiter._buckets) == MAX_CLIENTS


@pytest.mark.parametrize(
    "target", ["//evil.example", "/\\evil.example", "https://evil.example", "", None, "/a\nb", "x"]
)
def test_signing_in_leads_nowhere_else(target: str | None) -> None:
    assert local_path(target) == "/"


def test_signing_in_leads_on() -> None:
    assert local_path("/sessions?user=a%2Fb") == "/sessions?user=a%2Fb"

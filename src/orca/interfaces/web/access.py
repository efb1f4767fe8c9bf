"""Who may ask: hosts, origins, the access token, browser sessions and their CSRF tokens. No I/O, no framework.

A browser session is a random id in a signed cookie, guest or signed in. Its CSRF token is derived from the id, so
that a page of another origin, which can neither read the cookie nor a response, cannot know it. Cookies know
nothing of ports: that is why the cookie's name holds ours, and why a write's ``Origin`` is checked as well.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from orca.errors import ConfigError

SESSION_SECONDS = 7 * 24 * 3600
"""How long a sign-in lasts."""

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::\d{1,5})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who asks. ``cookie`` is what to set when the browser has no valid session yet, else None."""

    trusted: bool
    csrf_token: str
    bearer: bool = False
    signed_in: bool = False
    cookie: str | None = None


class Access:
    """Decides by headers alone; ``Guard`` applies it to every request.

    Bound to loopback, no token is needed. Raises ``ConfigError`` for any other address without one, and for a
    token that cannot stand in a header.
    """

    def __init__(
        self,
        *,
        host: str,
        port: int,
        token: str | None = None,
        allowed_hosts: Sequence[str] = (),
        now: Callable[[], float] = time.time,
    ) -> None:
        if token is not None and not (
            token.strip() == token != "" and token.isascii() and token.isprintable()
        ):
            raise ConfigError("--token must be printable ASCII characters without spaces at its ends")
        self.loopback = is_loopback(host)
        if not self.loopback and token is None:
            raise ConfigError(
                f"--host {host} can be reached by other machines: give a --token, or bind to 127.0.0.1"
            )
        self.needs_token = token is not None
        self.cookie_name = f"orca_session_{port}"
        self._token = token
        self._names = {name.lower() for name in ("localhost", host, *allowed_hosts)}
        self._secret = secrets.token_bytes(32)
        self._now = now

    def allows_host(self, header: str | None) -> bool:
        """Whether a ``Host`` header names this server.

        A name that an attacker's DNS points here is refused. A literal address cannot be pointed anywhere, so any
        one is fine; bound to loopback, any loopback one.
        """
        match = _HOST.fullmatch(header or "")
        if match is None:
            return False
        name = match[1].strip("[]").lower()
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.loopback

    def same_origin(self, origin: str | None, *, host: str, scheme: str) -> bool:
        """Whether a request's ``Origin`` is this server, or absent, as from programs that are no browsers.

        Behind a proxy that speaks TLS a page's origin is https, and the request that arrives here is not.
        """
        if origin is None:
            return True
        parts = urlsplit(origin) if "\\" not in origin else None
        return (
            parts is not None and parts.scheme in (scheme, "https") and parts.netloc.lower() == host.lower()
        )

    def right_token(self, given: str) -> bool:
        """Whether ``given`` is the access token; takes the same time wherever it differs."""
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())

    def visitor(self, *, cookie: str | None, authorization: str | None) -> Visitor:
        """Return who asks, by the session cookie and the ``Authorization`` header."""
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() == "bearer" and self.right_token(given.strip()):
            return Visitor(trusted=True, bearer=True, csrf_token="")
        state, session = self._read(cookie)
        fresh = None
        if session is None:
            fresh = self._cookie("guest")
            state, session = self._read(fresh)
        return Visitor(
            trusted=not self.needs_token or state == "user",
            signed_in=state == "user",
            csrf_token=self._sign(f"csrf.{session}"),
            cookie=fresh,
        )

    def sign_in(self) -> str:
        """Return the cookie of a new, signed-in session; the old id is not used again."""
        return self._cookie("user")

    def right_csrf_token(self, visitor: Visitor, given: str | None) -> bool:
        """Whether ``given`` is the CSRF token of the visitor's session."""
        return bool(visitor.csrf_token) and hmac.compare_digest(
            (given or "").encode(), visitor.csrf_token.encode()
        )

    def _cookie(self, state: str) -> str:
        body = f"{state}.{secrets.token_urlsafe(16)}.{int(self._now())}"
        return f"{body}.{self._sign(body)}"

    def _read(self, cookie: str | None) -> tuple[str, str | None]:
        """Return a cookie's state and session id; no id when it is not ours or too old."""
        body, _, signature = (cookie or "").rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(body).encode()):
            return "guest", None
        state, session, issued = body.split(".")
        if self._now() - int(issued) > SESSION_SECONDS:
            return "guest", None
        return state, session

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), "sha256").hexdigest()


def is_loopback(host: str) -> bool:
    """Whether an address to bind to can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"

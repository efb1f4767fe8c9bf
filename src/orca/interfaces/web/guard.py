"""The gate in front of every route: host, rate, origin, who asks, body, CSRF; and the headers of every answer."""

from __future__ import annotations

import asyncio
import logging
import secrets
import traceback
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orca.interfaces.web.access import Access, Visitor
from orca.interfaces.web.limits import Limits, RateLimiter

logger = logging.getLogger("orca.web")

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
CSRF_FIELD = "csrf_token"
CSRF_HEADER = "X-CSRF-Token"
CSRF_PATH = "/api/v1/csrf"
LOGIN_PATH = "/login"
STATIC_PATHS = "/static/"
"""What somebody may see who has not signed in yet: the page to do it on, and what it looks like."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " font-src 'self'; connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser sends a form with "Origin: null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

Refuse = Callable[[Request, int, str], Response]
"""Makes the answer to a request that is refused, from the status and a reason in words."""


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error
    """A request that goes no further."""

    def __init__(self, status: int, reason: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = headers or {}


class Guard:
    """ASGI middleware. What it lets through finds the ``Visitor`` as ``request.state.visitor``."""

    def __init__(self, app: ASGIApp, *, access: Access, limits: Limits, refuse: Refuse) -> None:
        self._app = app
        self._access = access
        self._limits = limits
        self._refuse = refuse
        self._requests = RateLimiter(limits.requests)
        self._wrong_tokens = RateLimiter(limits.wrong_tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = _Answer(scope, send, self._access.cookie_name)
        try:
            visitor = self._admit(scope)
            answer.visitor = visitor
            body = await self._body(scope, receive)
            self._check_csrf(scope, visitor, body)
            scope.setdefault("state", {})["visitor"] = visitor
            await self._app(scope, _replay(body, receive), answer.send)
        except Refusal as refusal:
            response: Response
            if refusal.status == 401 and _wants_page(scope):
                response = RedirectResponse(f"/login?next={quote(_local_path(scope), safe='')}", 303)
            else:
                response = self._refuse(Request(scope), refusal.status, refusal.reason)
            response.headers.update(refusal.headers)
            await response(scope, receive, answer.send)
        except Exception as error:  # noqa: BLE001 - logged; its text may quote a message, its place cannot
            logger.error("request %s failed: %s", answer.request_id, _place(error))  # noqa: TRY400 - see above
            if answer.started:
                raise ConnectionAbortedError from None
            reason = f"something went wrong here; the log names request {answer.request_id}"
            await self._fault(scope, reason)(scope, receive, answer.send)

    def _fault(self, scope: Scope, reason: str) -> Response:
        try:
            return self._refuse(Request(scope), 500, reason)
        except Exception as error:  # noqa: BLE001 - what is broken may be the page that tells of it
            logger.error("and the page that tells of it: %s", _place(error))  # noqa: TRY400 - see above
            return PlainTextResponse(reason, 500)

    def _admit(self, scope: Scope) -> Visitor:
        """Return who asks. Raises ``Refusal``; nothing of the body has been read."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.allows_host(hosts[0]):
            raise Refusal(403, "this server does not go by that name")
        client = scope["client"][0] if scope.get("client") else ""
        self._check_rate(self._requests, client)
        self._requests.take(client)
        self._check_origin(scope, headers, hosts[0])
        authorization = headers.get("authorization")
        if authorization is not None and self._access.needs_token:
            self._check_rate(self._wrong_tokens, client)
        cookie = HTTPConnection(scope).cookies.get(self._access.cookie_name)
        visitor = self._access.visitor(cookie=cookie, authorization=authorization)
        if authorization is not None and not visitor.bearer and self._access.needs_token:
            self._wrong_tokens.take(client)
        if scope["path"] == LOGIN_PATH and scope["method"] == "POST":
            self._check_rate(self._wrong_tokens, client)
            self._wrong_tokens.take(client)
        if not visitor.trusted and not _is_open(scope["path"]):
            raise Refusal(401, "sign in, or send the access token", {"WWW-Authenticate": "Bearer"})
        return visitor

    def _check_rate(self, limiter: RateLimiter, client: str) -> None:
        seconds = limiter.wait(client)
        if seconds > 0:
            raise Refusal(429, "too many requests", {"Retry-After": str(int(seconds) + 1)})

    def _check_origin(self, scope: Scope, headers: Headers, host: str) -> None:
        """Refuse what a page of another origin sends; following a link to a page of ours is fine."""
        site = headers.get("sec-fetch-site", "none")
        safe = scope["method"] in SAFE_METHODS
        if not safe and not self._access.same_origin(
            headers.get("origin"), host=host, scheme=scope["scheme"]
        ):
            raise Refusal(403, "the request comes from a page of another origin")
        if site not in ("none", "same-origin") and not (safe and headers.get("sec-fetch-mode") == "navigate"):
            raise Refusal(403, "the request comes from a page of another site")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """Return the whole body, so that nothing behind can be made to wait for it or to hold more of it."""
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._limits.body_bytes:
            raise Refusal(413, f"the body has more than {self._limits.body_bytes:,} bytes")
        if length == "0" and "transfer-encoding" not in headers:
            return b""
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refusal(400, "the body ended early")
                    body += message.get("body", b"")
                    if len(body) > self._limits.body_bytes:
                        raise Refusal(413, f"the body has more than {self._limits.body_bytes:,} bytes")
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError as error:
            raise Refusal(408, "the body took too long") from error

    def _check_csrf(self, scope: Scope, visitor: Visitor, body: bytes) -> None:
        if scope["method"] in SAFE_METHODS or visitor.bearer:
            return
        headers = Headers(scope=scope)
        given = headers.get(CSRF_HEADER)
        if given is None and headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            given = parse_qs(body.decode("utf-8", "replace")).get(CSRF_FIELD, [None])[0]
        if not self._access.right_csrf_token(visitor, given):
            raise Refusal(
                403,
                f"a write needs the access token as bearer, or the token of GET {CSRF_PATH} in {CSRF_HEADER};"
                " a page that was open for long has to be loaded again",
            )


class _Answer:
    """Sends an answer with the headers that every answer has."""

    def __init__(self, scope: Scope, send: Send, cookie_name: str) -> None:
        self._scope = scope
        self._send = send
        self._cookie_name = cookie_name
        self.request_id = secrets.token_hex(8)
        self.started = False
        self.visitor: Visitor | None = None

    async def send(self, message: Message) -> None:
        """Send on one message."""
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            headers.update({**HEADERS, "X-Request-Id": self.request_id})
            headers.setdefault("Cache-Control", "no-store")
            if self._starts_session(headers) and self.visitor is not None:
                cookie = f"{self._cookie_name}={self.visitor.cookie}"
                headers.append("Set-Cookie", cookie + cookie_attributes(self._scope["scheme"]))
        await self._send(message)

    def _starts_session(self, headers: Headers) -> bool:
        """Whether this answer gives out a CSRF token, which is worth nothing without its session."""
        if self.visitor is None or self.visitor.cookie is None:
            return False
        set_already = any(c.startswith(self._cookie_name) for c in headers.getlist("set-cookie"))
        is_page = headers.get("content-type", "").startswith("text/html")
        return not set_already and (is_page or self._scope["path"] == CSRF_PATH)


def cookie_attributes(scheme: str, *, seconds: int | None = None) -> str:
    """Return the attributes of our cookies; without ``seconds`` they end with the browser's session."""
    age = "" if seconds is None else f"; Max-Age={seconds}"
    return f"; Path=/; HttpOnly; SameSite=Strict{age}" + ("; Secure" if scheme == "https" else "")


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that gives the body that was read already, then what else comes."""
    messages: Iterator[Message] = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def replay() -> Message:
        for message in messages:
            return message
        return await receive()

    return replay


def _is_open(path: str) -> bool:
    return path == LOGIN_PATH or path.startswith(STATIC_PATHS)


def _wants_page(scope: Scope) -> bool:
    return scope["method"] in SAFE_METHODS and not scope["path"].startswith("/api/")


def _local_path(scope: Scope) -> str:
    query = scope["query_string"].decode("ascii", "replace")
    return quote(scope["path"]) + (f"?{query}" if query else "")


def _place(error: BaseException) -> str:
    """Return what went wrong and where, without the error's text."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    where = " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {where}"

"""Speaking to OpenAI-compatible APIs: one address, one key, and their errors in Orca's words.

Embedders and chat models share this. The openai SDK sends and receives; nothing of the environment (its own
variables, proxies) reaches it, and it never retries: callers know better what a retry is worth.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn
from urllib.parse import urlsplit

import openai

from orca.errors import (
    ConfigError,
    ProviderError,
    ProviderResponseError,
    ProviderTimeoutError,
    RateLimitError,
)
from orca.text.normalize import clean
from orca.values import Secret, is_local_url, normalize_base_url, redact_url

MAX_CONNECT_SECONDS = 10.0
"""A host that is there accepts within this; the rest of the time limit is for its answer."""

MAX_RETRY_AFTER = 86_400.0
"""Nobody is believed who asks to wait for more than a day."""

REFUSED = frozenset({400, 413, 422})
"""The request's content or size is refused. Vendors disagree on which of these means too many or too long."""

_SENT_HEADERS = frozenset(
    {"host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent"}
    | {"x-stainless-raw-response"}  # the SDK reads it back from the request
)
_HOST = re.compile(r"[\w.:%-]+")
_WAIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m)?\s*", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class Endpoint:
    """An OpenAI-compatible API at one address. Safe to share between threads; ``close`` lets its connections go.

    ``base_url`` may come with or without ``/v1`` and a trailing slash; any other path is taken as it stands.
    ``timeout`` is in seconds, for each request. ``http_client`` replaces the SDK's own (a proxy, a test).
    Raises ``ConfigError`` for an address that is not HTTP, and for a missing key unless the address is local.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: Secret | str | None,
        timeout: float,
        http_client: Any | None = None,
    ) -> None:
        try:
            self.base_url = normalize_base_url(base_url)
            parts = urlsplit(self.base_url)
            if (
                not _HOST.fullmatch(parts.hostname or "") or parts.port == 0
            ):  # `port` raises for what is no port
                raise ValueError(base_url)
        except ValueError:
            shown = redact_url(base_url)
            raise ConfigError(
                f"base_url {shown!r} is not an address that begins with http:// or https://"
            ) from None
        if not math.isfinite(timeout) or timeout <= 0:
            raise ConfigError(f"timeout must be a number of seconds above 0, not {timeout!r}")
        self.timeout = timeout
        self.shown_url = redact_url(self.base_url)
        key = api_key.reveal() if isinstance(api_key, Secret) else (api_key or "").strip()
        if not key and not is_local_url(self.base_url):
            raise ConfigError(f"{self.shown_url} needs an API key; only local addresses do without")
        if not (key.isascii() and (not key or key.isprintable())):
            raise ConfigError(f"the API key for {self.shown_url} holds characters that no key has")
        self._key = key
        self._http_client = http_client
        self._client: openai.OpenAI | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Endpoint({self.shown_url!r})"

    @property
    def client(self) -> openai.OpenAI:
        """The SDK's client, made at first use: it loads certificates, which takes tens of milliseconds."""
        with self._lock:
            if self._client is None:
                http_client = self._http_client or openai.DefaultHttpxClient(**self._transport())
                client = _Client(http_client=http_client, **self._options())
                client.sent_key = self._key
                if self._http_client is None:
                    weakref.finalize(self, http_client.close)
                self._client = client
            return self._client

    def async_client(self) -> openai.AsyncOpenAI:
        """Return a new client for the running event loop, under the same rules. The caller closes it."""
        http_client = openai.DefaultAsyncHttpxClient(**self._transport())
        client = _AsyncClient(http_client=http_client, **self._options())
        client.sent_key = self._key
        return client

    def _transport(self) -> dict[str, Any]:
        return {
            "trust_env": False,
            # A redirected POST arrives as a GET without its body: better to hear of the redirect.
            "follow_redirects": False,
            # Plain HTTP shows no certificate, and reading the trusted ones takes a tenth of a second.
            "verify": self.base_url.startswith("https://"),
        }

    def _options(self) -> dict[str, Any]:
        return {
            "base_url": self.base_url,
            "api_key": self._key or "none",  # the SDK insists on one; `_set_headers` takes it out again
            "timeout": self.timeouts(self.timeout),
            "max_retries": 0,
        }

    @staticmethod
    def timeouts(seconds: float) -> openai.Timeout:
        """Return the SDK's time limits for a request that may take ``seconds``."""
        return openai.Timeout(seconds, connect=min(seconds, MAX_CONNECT_SECONDS))

    @contextmanager
    def errors(self, path: str) -> Iterator[None]:
        """Translate what the SDK raises inside the block, for a request to ``path``."""
        url = f"{self.shown_url}{path}"
        try:
            yield
        except openai.APITimeoutError as error:
            raise ProviderTimeoutError(f"{url} did not answer in time") from error
        except openai.APIConnectionError as error:
            reason = self.excerpt(error.__cause__ or error)
            raise ProviderError(f"{url} cannot be reached: {reason}") from error
        except openai.APIStatusError as error:
            self._raise_for_status(error, url)
        except openai.OpenAIError as error:
            raise ProviderResponseError(
                f"{url} gave an answer that cannot be used: {self.excerpt(error)}"
            ) from error

    def parse(self, content: bytes, path: str) -> Mapping[str, Any]:
        """Return an answer's JSON object. Raises ``ProviderResponseError`` for anything else."""
        url = f"{self.shown_url}{path}"
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            start = self.excerpt(content[:400].decode("utf-8", "replace"))
            raise ProviderResponseError(f"{url} answered with something that is not JSON: {start}") from None
        if not isinstance(answer, dict):
            raise ProviderResponseError(f"{url} answered with a JSON {type(answer).__name__}, not an object")
        if answer.get("error"):  # some gateways report failures under status 200
            raise ProviderResponseError(f"{url} reports: {self.excerpt(answer['error'])}")
        return answer

    def excerpt(self, body: object, limit: int = 200) -> str:
        """Return the start of a provider's own words on one line, without the key."""
        text = body if isinstance(body, str) else str(body)
        if self._key:
            text = text.replace(self._key, "…")
        text = _UNPRINTABLE.sub(" ", clean(text)).strip()
        return text if len(text) <= limit else text[:limit] + "…"

    def close(self) -> None:
        """Let the connections go. Closing twice is fine; a later request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None and self._http_client is None:
            client.close()

    def _raise_for_status(self, error: openai.APIStatusError, url: str) -> NoReturn:
        status = error.status_code
        wait = retry_after(error.response.headers)
        said = self.excerpt(error.body) if error.body else "no reason given"
        if status == 429:
            raise RateLimitError(f"{url} asks to slow down (429): {said}", retry_after=wait) from error
        if status in REFUSED:
            raise ProviderError(f"{url} refused the request ({status}): {said}", refused=True) from error
        if status in (408, 504):
            raise ProviderTimeoutError(
                f"{url} did not answer in time ({status})", retry_after=wait
            ) from error
        if status in (401, 403):  # the body is left out: some vendors repeat the key in it, in part
            hint = f"refused the API key ({status}): check the key, and that it belongs to this address"
        elif status == 404:
            hint = f"does not exist (404): check base_url and the model's name. It says: {said}"
        elif 300 <= status < 400:
            hint = f"redirects elsewhere ({status}): set base_url to the final address"
        elif status >= 500:
            hint = f"failed ({status}): {said}"
        else:
            hint = f"did not accept the request ({status}): {said}"
        raise ProviderError(f"{url} {hint}", retry_after=wait) from error


def is_passing(error: ProviderError) -> bool:
    """Whether sending the same again at once may help: the connection broke, or the server failed by itself."""
    cause = error.__cause__
    if isinstance(cause, openai.APITimeoutError) or error.retry_after is not None:
        return False
    if isinstance(cause, openai.APIStatusError):
        return cause.status_code >= 500
    return isinstance(cause, openai.APIConnectionError)


def _set_headers(headers: Any, key: str) -> None:
    # The SDK adds headers of its own and those that OPENAI_CUSTOM_HEADERS, _ORG_ID and _PROJECT_ID name. Only what
    # the request needs leaves this process, and only the key that the settings name.
    for name in list(headers):
        if name.lower() not in _SENT_HEADERS:
            del headers[name]
    if key:
        headers["Authorization"] = f"Bearer {key}"


class _Client(openai.OpenAI):
    sent_key = ""

    def _prepare_request(self, request: Any) -> None:
        _set_headers(request.headers, self.sent_key)


class _AsyncClient(openai.AsyncOpenAI):
    sent_key = ""

    async def _prepare_request(self, request: Any) -> None:
        _set_headers(request.headers, self.sent_key)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a provider asks to wait, or None.

    Read are ``Retry-After`` (RFC 9110: seconds or an HTTP date), with a unit too as some vendors write it
    (``1500ms``), and ``retry-after-ms``. A date counts from the answer's own ``Date``, whatever the local clock.
    """
    milliseconds = _WAIT.fullmatch(headers.get("retry-after-ms") or "")
    if milliseconds and milliseconds[2] is None:
        return min(float(milliseconds[1]) / 1000, MAX_RETRY_AFTER)
    value = headers.get("retry-after")
    if not value:
        return None
    if match := _WAIT.fullmatch(value):
        unit = match[2].lower() if match[2] else None
        return min(float(match[1]) * _SECONDS[unit], MAX_RETRY_AFTER)
    try:
        until = email.utils.parsedate_to_datetime(value)
        start = email.utils.parsedate_to_datetime(headers.get("date") or email.utils.formatdate(usegmt=True))
        return min(max((until - start).total_seconds(), 0.0), MAX_RETRY_AFTER)
    except (TypeError, ValueError):
        return None

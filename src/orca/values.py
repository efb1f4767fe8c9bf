"""Checked values: what a setting may hold, keys that never show themselves, and addresses. Pure functions only."""

from __future__ import annotations

import ipaddress
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

_ENDPOINTS = re.compile(r"/(embeddings|chat/completions|completions)$")
_PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/]*(?=@)|(?<=[?&]password=)[^&]*", re.IGNORECASE)


class Secret:
    """A key that never shows itself: only ``reveal()`` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key itself, to be handed to the client that sends it and to nothing else."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


def redact_url(url: str) -> str:
    """Return ``url`` without the password that a database address may carry."""
    return _PASSWORD.sub(lambda match: f"{match[1]}:…" if match[1] is not None else "…", url)


def is_file_url(url: str) -> bool:
    """Whether a storage address names a file, and neither a server nor ``:memory:``."""
    return url != ":memory:" and "://" not in url


def is_local_url(url: str) -> bool:
    """Whether an HTTP address is on this machine or its private network, where servers ask for no key."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))
    return address.is_loopback or address.is_private


def normalize_base_url(url: str) -> str:
    """Return an API's base address in one form: no trailing slash, no endpoint's path, ``/v1`` if it has no path.

    Raises ``ValueError`` when it is no HTTP address. An address with another path is taken as it stands.
    """
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(url)
    path = _ENDPOINTS.sub("", re.sub("/{2,}", "/", parts.path).rstrip("/")).rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, path or "/v1", "", ""))


@dataclass(frozen=True, slots=True)
class Kind:
    """What a key may hold: in words, as a check, and how it is read from plain text.

    ``check`` and ``read`` raise ``ValueError`` or ``TypeError``. A ``secret`` value is never repeated in an error;
    ``path`` marks an address that may be a file's path.
    """

    allowed: str
    check: Callable[[Any], Any]
    read: Callable[[str], Any] = str
    secret: bool = False
    path: bool = False


def _need(condition: object, value: Any) -> Any:
    if not condition:
        raise ValueError(value)
    return value


def text() -> Kind:
    """Take any text."""
    return Kind("a text", lambda value: _need(isinstance(value, str), value))


def choice(*names: str) -> Kind:
    """Take one of the names."""
    allowed = "one of " + ", ".join(json.dumps(name) for name in names)
    return Kind(allowed, lambda value: _need(value in names, value))


def integer(low: int, high: int) -> Kind:
    """Take a whole number from ``low`` to ``high``."""

    def check(value: Any) -> int:
        return int(
            _need(isinstance(value, int) and not isinstance(value, bool) and low <= value <= high, value)
        )

    return Kind(f"a whole number from {low} to {high}", check, int)


def boolean() -> Kind:
    """Take true or false."""

    def read(text: str) -> Any:
        return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(
            text.strip().lower(), text
        )

    return Kind("true or false", lambda value: _need(isinstance(value, bool), value) is True, read)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def number(low: float, high: float) -> Kind:
    """Take a finite number above ``low`` and up to ``high``."""

    def check(value: Any) -> float:
        return float(_need(_is_number(value) and low < value <= high, value))

    return Kind(f"a number above {low:g}, up to {high:g}", check, float)


def shares() -> Kind:
    """Take three shares, as numbers, that sum to 1."""

    def check(value: Any) -> tuple[float, ...]:
        _need(isinstance(value, list | tuple) and len(value) == 3, value)
        _need(all(_is_number(share) and share >= 0 for share in value), value)
        _need(math.isclose(sum(value), 1.0, abs_tol=1e-6), value)
        return tuple(float(share) for share in value)

    allowed = "three numbers, none negative, that sum to 1: working, short-term, long-term"
    return Kind(allowed, check, lambda text: [float(part) for part in text.strip("[] ").split(",")])


def base_url() -> Kind:
    """Take the base address of an HTTP API; ``normalize_base_url`` gives it its one form."""
    allowed = "an address that begins with http:// or https://, without ? and #"
    return Kind(allowed, lambda value: normalize_base_url(_need(isinstance(value, str), value)))


def storage_url() -> Kind:
    """Take where a store is: a file, memory or a PostgreSQL server."""

    def check(value: Any) -> str:
        _need(isinstance(value, str) and value.strip(), value)
        return str(
            _need(is_file_url(value) or value.startswith((":memory:", "postgresql://", "postgres://")), value)
        )

    # Secret in the sense that a refused address is not repeated: it may carry a password.
    return Kind("the path of a file, :memory: or postgresql://…", check, secret=True, path=True)


def directory() -> Kind:
    """Take the path of a directory."""
    return Kind(
        "the path of a directory",
        lambda value: _need(isinstance(value, str) and value.strip() and "\0" not in value, value),
        path=True,
    )


def secret() -> Kind:
    """Take a key, wrapped into a ``Secret``."""

    def check(value: Any) -> Secret:
        key = value.strip() if isinstance(value, str) else ""
        return Secret(_need(key and key.isascii() and key.isprintable(), value))

    return Kind("a key: a text of printable ASCII characters", check, secret=True)


def language() -> Kind:
    """Take the language of messages; as text, also the name of a locale."""

    def check(value: Any) -> str:
        return str(_need(value in ("auto", "zh", "en"), value))

    return Kind('"auto", "zh" or "en"', check, lambda text: language_of(text) or text)


def texts() -> Kind:
    """Take a list of texts; as text, a JSON array."""

    def check(value: Any) -> tuple[str, ...]:
        return tuple(_need(isinstance(value, list) and all(isinstance(text, str) for text in value), value))

    return Kind("a list of texts", check, json.loads)


def patterns() -> Kind:
    """Take a list of regular expressions, as texts; as text, a JSON array."""

    def check(value: Any) -> tuple[str, ...]:
        for pattern in (listed := tuple(texts().check(value))):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(str(error)) from error
        return listed

    return Kind("a list of regular expressions", check, json.loads)


def secret_texts() -> Kind:
    """Take a table of texts that may be secret; as text, a JSON object."""

    def check(value: Any) -> dict[str, Secret]:
        _need(isinstance(value, dict) and all(isinstance(text, str) for text in value.values()), value)
        return {name: Secret(text) for name, text in value.items()}

    return Kind("a table of texts", check, json.loads, secret=True)


def language_of(text: str) -> str | None:
    """Return ``zh`` or ``en`` for a locale's name such as ``zh_CN.UTF-8``, None where it names no language."""
    name = re.split(r"[._@-]", text.strip().lower())[0]
    if name in ("", "auto"):
        return None
    return "zh" if name == "zh" or name.startswith("chinese") else "en"

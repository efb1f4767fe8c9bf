"""Session ids as one segment of a path, whatever is in them.

An id is data: it may hold slashes, dots, NUL or nothing at all, and a path cannot: servers and browsers decode
``%2F`` and resolve ``..`` before a route is chosen. So an id that is made of letters, digits, ``-``, ``_`` and
``.``, and begins with none of the last, stands for itself; any other is ``~`` and the unpadded base64url
(RFC 4648, section 5) of its UTF-8 bytes.
"""

from __future__ import annotations

import base64
import binascii
import re

from orca.errors import NotFoundError

_PLAIN = re.compile(r"[^\W_][\w.-]*|[_-][\w.-]*")


def session_key(session: str) -> str:
    """Return the path segment that stands for a session id. Two ids never share one."""
    if _PLAIN.fullmatch(session):
        return session
    encoded = base64.urlsafe_b64encode(session.encode("utf-8", "surrogatepass"))
    return "~" + encoded.decode("ascii").rstrip("=")


def session_of(key: str) -> str:
    """Return the session id that a path segment stands for. Raises ``NotFoundError`` for one that is none."""
    if not key.startswith("~"):
        return key
    try:
        text = base64.b64decode(key[1:] + "=" * (-len(key[1:]) % 4), altchars=b"-_", validate=True)
        return text.decode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise NotFoundError(f"there is no session {key!r}") from error

"""Keys by which an imported line is known again, and which session a log without session names belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from orca.importers.target import ImportTarget
from orca.text.jsonable import to_json
from orca.text.normalize import clean
from orca.text.parts import plain_text
from orca.text.times import optional_to_text
from orca.types import Message, Scope

KEY_PREFIX = "import:"
COPY_CANDIDATES = 20
"""A renamed log is looked for among the sessions of this many messages that say the same as its first line."""

_QUERY_CHARACTERS = 300


class Keys:
    """Gives the lines of one file their keys: what was said and when, and which repetition of it this is.

    The same file gives the same keys whatever its name, also when lines were added at its end, and equal lines
    of one file get different ones. A store keeps keys per session.
    """

    def __init__(self) -> None:
        """Begin at the first line of a file."""
        self._seen: Counter[tuple[str | None, str]] = Counter()

    def key(self, message: Message, session: str | None) -> str:
        """Return the next key for a message that the file gives in ``session`` (None: it names none).

        Raises ``ConfigError`` for a message that no store can keep.
        """
        said = [
            message.role,
            message.content,
            message.name,
            message.tool_calls,
            message.tool_call_id,
            optional_to_text(message.timestamp),
        ]
        digest = blake2b(to_json(said, where="the message").encode(), digest_size=16).hexdigest()
        self._seen[session, digest] += 1
        return f"{KEY_PREFIX}{digest}:{self._seen[session, digest]}"


def name_session(
    path: Path, keys: Sequence[str], first: Message, *, memory: ImportTarget, scope: Scope
) -> str:
    """Return the session for a log whose lines name none: by the file's name, or that of an earlier copy of it.

    ``keys`` are those of the lines, ``first`` is the first message. A second log of the same name with other
    content gets a number after its name. The answer is the same each time, whatever was imported since.
    """
    stem = clean(path.stem) or "log"
    number = 1
    while True:
        name = stem if number == 1 else f"{stem}-{number}"
        stored = _stored_keys(memory, replace(scope, session=name))
        if stored and _shares_most(stored, keys):
            return name
        if not stored:
            return _copied_before(keys, first, memory=memory, scope=scope) or name
        number += 1


def _copied_before(keys: Sequence[str], first: Message, *, memory: ImportTarget, scope: Scope) -> str | None:
    """Return the session that an equally beginning log was imported into under another name."""
    query = plain_text(first.content)[:_QUERY_CHARACTERS]
    if not query.strip():
        return None
    hits = memory.search_messages(scope=scope, query=query, limit=COPY_CANDIDATES)
    for session in dict.fromkeys(hit.session for hit in hits if hit.session is not None):
        stored = _stored_keys(memory, replace(scope, session=session))
        shared = min(len(stored), len(keys))
        if shared and stored[:shared] == list(keys[:shared]):
            return session
    return None


def _stored_keys(memory: ImportTarget, scope: Scope) -> list[str]:
    messages = memory.messages(scope=scope, limit=None)
    return [
        message.dedupe_key
        for message in messages
        if message.dedupe_key and message.dedupe_key.startswith(KEY_PREFIX)
    ]


def _shares_most(stored: Sequence[str], keys: Sequence[str]) -> bool:
    """Whether two versions of a log have at least half of the shorter one in common."""
    return 2 * len(set(stored) & set(keys)) >= min(len(stored), len(keys))

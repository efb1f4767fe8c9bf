"""Places: the row numbers of the keyword index, chosen so that a scope is a range of them.

A place is made of three numbers: the owner (a user's agent), the session among the owner's, and the position in the
session. FTS5 keeps the rows of a term in the order of these numbers and leaps to any of them, so a search in one
owner's rows, or in one session of 200 messages among a million, reads only what lies in the range; and the rows
around a message lie beside it. A memory belongs to no session and lies in the run of the session ``""``.

Beside the places stand totals by session and by owner: the number of rows and of terms, which BM25 asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orca.errors import StoreError
from orca.stores.sqlite.connection import Connection
from orca.stores.sqlite.records import RecordTable
from orca.types import Scope

POSITION_BITS = 22
"""A session holds up to 4 million rows of a kind,"""

SESSION_BITS = 22
"""an owner up to 4 million sessions,"""

OWNER_BITS = 19
"""and a file up to half a million owners: 63 bits, which is what SQLite's row numbers have."""

POSITIONS = 1 << POSITION_BITS
SESSIONS = 1 << SESSION_BITS


@dataclass(frozen=True, slots=True)
class Run:
    """The places from ``low`` to ``high`` of one scope, with its numbers of rows and of terms."""

    number: int
    low: int
    high: int
    documents: int
    terms: int


def find_run(connection: Connection, table: RecordTable, scope: Scope, session: str | None) -> Run | None:
    """Return where the rows of the scope's owner lie, or those of one session; None where there are none."""
    if session is None:
        owner = connection.value(
            "SELECT number FROM keyword_owners WHERE user_id = ? AND agent = ?", (scope.user, scope.agent)
        )
        number = None if owner is None else owner << SESSION_BITS
    else:
        number = connection.value(
            "SELECT number FROM keyword_sessions WHERE user_id = ? AND agent = ? AND session_id = ?",
            (scope.user, scope.agent, session),
        )
    totals = connection.one(
        "SELECT documents, terms FROM keyword_totals WHERE record = ? AND number = ?", (table.record, number)
    )
    if number is None or totals is None:
        return None
    size = POSITIONS * SESSIONS if session is None else POSITIONS
    low = number << POSITION_BITS
    return Run(number, low, low + size - 1, *totals)


def session_number(connection: Connection, user: str, agent: str, session: str) -> int:
    """Return the number of a session, giving it one when it has none. Raises ``StoreError`` when all are taken."""
    known = connection.value(
        "SELECT number FROM keyword_sessions WHERE user_id = ? AND agent = ? AND session_id = ?",
        (user, agent, session),
    )
    if known is not None:
        return int(known)
    owner, last = connection.one(
        "INSERT INTO keyword_owners(user_id, agent, last_session) VALUES (?, ?, 1)"
        " ON CONFLICT DO UPDATE SET last_session = last_session + 1 RETURNING number, last_session",
        (user, agent),
    ) or (0, 0)
    if owner >= 1 << OWNER_BITS or last >= SESSIONS:
        raise StoreError(f"the keyword index has no place left for session {session!r} of user {user!r}")
    number = (int(owner) << SESSION_BITS) | int(last)
    connection.run(
        "INSERT INTO keyword_sessions(number, user_id, agent, session_id) VALUES (?, ?, ?, ?)",
        (number, user, agent, session),
    )
    return number


def forget_scopes(connection: Connection, *, user: str, session: str | None = None) -> None:
    """Forget the names of a user's sessions, or of one, that have no rows in any index; their places stay unused."""
    empty = (
        "user_id = :user AND (:session IS NULL OR session_id = :session) AND NOT EXISTS"
        " (SELECT 1 FROM keyword_totals AS total WHERE total.number = keyword_sessions.number AND documents > 0)"
    )
    values = {"user": user, "session": session}
    connection.run(
        f"DELETE FROM keyword_totals WHERE number IN (SELECT number FROM keyword_sessions WHERE {empty})",
        values,
    )
    connection.run(f"DELETE FROM keyword_sessions WHERE {empty}", values)
    without = (
        "user_id = :user AND NOT EXISTS (SELECT 1 FROM keyword_sessions AS held"
        " WHERE held.user_id = keyword_owners.user_id AND held.agent = keyword_owners.agent)"
    )
    connection.run(
        "DELETE FROM keyword_totals WHERE number IN"
        f" (SELECT number << {SESSION_BITS} FROM keyword_owners WHERE {without})",
        {"user": user},
    )
    connection.run(f"DELETE FROM keyword_owners WHERE {without}", {"user": user})


def add_totals(connection: Connection, table: RecordTable, changes: Iterable[tuple[int, int, int]]) -> None:
    """Add ``(session's number, rows, terms)`` to the totals of the sessions and of their owners."""
    connection.many(
        "INSERT INTO keyword_totals(record, number, documents, terms) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET documents = documents + excluded.documents, terms = terms + excluded.terms",
        [
            (table.record, number, documents, terms)
            for session, documents, terms in changes
            for number in (session, session & -SESSIONS)
        ],
    )


def documents_since(connection: Connection, table: RecordTable, run: Run, place: int) -> float:
    """Return about how many rows of the run lie at ``place`` or after it.

    Whole sessions are counted; in the session of the place the rows are taken to lie evenly.
    """
    session = place >> POSITION_BITS
    after = connection.value(
        "SELECT coalesce(sum(documents), 0) FROM keyword_totals WHERE record = ? AND number > ? AND number <= ?",
        (table.record, session, run.high >> POSITION_BITS),
    )
    inside = connection.value(
        "SELECT documents FROM keyword_totals WHERE record = ? AND number = ?", (table.record, session)
    )
    last = connection.value(
        f"SELECT max(place) FROM {table.terms} WHERE place BETWEEN ? AND ?",
        (place, (session + 1) * POSITIONS - 1),
    )
    if not inside or last is None:
        return float(after)
    end = last % POSITIONS
    return float(after + inside * (end - place % POSITIONS + 1) / max(end, 1))

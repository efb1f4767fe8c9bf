"""What a damaged, full, locked or foreign file means, in Orca's own errors and in words.

The driver's exceptions are named here as text, because only ``connection.py`` may import the driver.
"""

from __future__ import annotations

from orca.errors import ConflictError, StoreError, StoreUnavailableError

UNAVAILABLE: dict[str, str] = {
    "FullError": "the disk is full; free some space",
    "ReadOnlyError": "the file or its folder is read-only; change the permissions or choose another place",
    "IOError": "the disk reports a read or write error; check the disk",
    "CantOpenError": "it cannot be opened; check that the folder exists and may be written",
    "CorruptError": "the file is damaged; keep it aside and restore a backup (`orca verify` lists what is wrong)",
    "NotADBError": "the file is not a database or is damaged; keep it aside and restore a backup",
    "BusyError": "another process holds the file locked; try again when it is done",
    "LockedError": "another connection holds a table locked; try again when it is done",
    "ProtocolError": "the file's locks do not work, as on some network folders; move it to a local disk",
    "PermissionsError": "access is denied; change the permissions",
    "NoMemError": "there is not enough memory",
    "NoLFSError": "the file is too large for this system",
    "AuthError": "access was denied by an authorizer",
    "ConnectionClosedError": "the store is closed; open it again",
    "CursorClosedError": "the store is closed; open it again",
    "VFSFileClosedError": "the store is closed; open it again",
    "ForkingViolationError": "a connection was carried over a fork; open the store anew in the child",
    "InterruptError": "the operation was interrupted; try again",
}
"""Driver errors after which nothing can be read or written for now, each with what to do."""

CONFLICTS = frozenset({"ConstraintError"})
"""Driver errors that mean that the data contradict what is stored."""

OTHER = frozenset(
    {
        "AbortError", "BindingsError", "ConnectionNotClosedError", "EmptyError", "ExecTraceAbort",
        "ExecutionCompleteError", "ExtensionLoadingError", "FormatError", "IncompleteExecutionError",
        "InternalError", "InvalidContextError", "MismatchError", "MisuseError", "NoFTS5Error", "NotFoundError",
        "RangeError", "SQLError", "SchemaChangeError", "ThreadingViolationError", "TooBigError",
        "VFSNotImplementedError",
    }
)  # fmt: skip
"""Driver errors that only tell that a statement or its use was wrong."""


def translate(name: str, message: str, location: str) -> StoreError:
    """Return Orca's error for the driver's exception class ``name`` with ``message`` on the file ``location``."""
    if name in UNAVAILABLE:
        return StoreUnavailableError(f"{location}: {UNAVAILABLE[name]} ({message})")
    if name in CONFLICTS:
        return ConflictError(f"{location}: the data contradict what is stored ({message})")
    return StoreError(f"{location}: {message} ({name})")

"""``orca export`` and ``orca backup``.

An export is JSON Lines: a first line ``{"orca_export": 1}``, then one ``{"table": …, "row": …}`` a line, of every
table but the indexes, which are built anew on import
(see ``orca.importers.export_file``).
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from orca.errors import ConflictError, StoreUnavailableError
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command
from orca.text.jsonable import to_json

if TYPE_CHECKING:
    from orca.memory.manager import MemoryManager

EXPORT_VERSION = 1
_MARK = "orca_export"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "export")(export)
    command(app, "backup")(backup)


def export(
    cli: Cli,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Where to write. Without it: standard output.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> int | None:
    """Write everything but the indexes as JSON Lines; orca import reads it again."""
    with cli.memory() as memory:
        if file is None:
            return _to_stdout(cli, memory)
        if file.exists() and not force:
            raise ConflictError(t("{path} exists already; --force overwrites it", path=file))
        counts = _to_file(file, memory)
    if cli.json:
        return cli.finish({"file": str(file), "rows": counts})
    cli.render.counts(t("Exported to {path}", path=file), counts)
    return None


def backup(
    cli: Cli,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy to make; it must not exist.")],
) -> int | None:
    """Make a complete copy of the store, also while it is in use."""
    with cli.memory() as memory:
        size = memory.backup(str(file))
        rows = memory.status().counts
    if cli.json:
        return cli.finish({"file": str(file), "bytes": size, "rows": rows})
    cli.render.counts(t("Copied to {path}", path=file), {**rows, "bytes": size})
    return None


def _to_stdout(cli: Cli, memory: MemoryManager) -> int:
    if cli.json:
        rows = [{"table": table, "row": row} for table, row in memory.export_rows()]
        return cli.finish({_MARK: EXPORT_VERSION, "rows": rows})
    _write(sys.stdout, memory.export_rows())
    return 0


def _to_file(path: Path, memory: MemoryManager) -> dict[str, int]:
    """Write beside the target and move into place, so that no half-written export is ever found there."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("x", encoding="utf-8", newline="\n") as file:
            counts = _write(file, memory.export_rows())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise StoreUnavailableError(
            t("cannot write {path}: {reason}", path=path, reason=error.strerror)
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return counts


def _write(file: TextIO, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    file.write(to_json({_MARK: EXPORT_VERSION}, where="header") + "\n")
    for table, row in rows:
        file.write(to_json({"table": table, "row": row}, where=table) + "\n")
        counts[table] += 1
    return dict(counts)

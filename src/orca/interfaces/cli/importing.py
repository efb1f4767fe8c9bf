"""``orca import`` and ``orca migrate-jsonl``: bring in what was said elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orca.errors import NotFoundError
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli
from orca.interfaces.cli.options import command
from orca.interfaces.cli.waiting import wait_for_jobs

if TYPE_CHECKING:
    from orca.health import ImportReport
    from orca.memory.manager import MemoryManager

Wait = Annotated[
    bool,
    typer.Option("--wait/--no-wait", help="Wait until the vectors are made; keyword search works at once."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    command(app, "import")(import_)
    command(app, "migrate-jsonl")(migrate_jsonl)


def import_(
    cli: Cli,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Logs, folders of logs, or an export of Orca.")
    ],
    format: Annotated[  # noqa: A002 - the user's word
        str, typer.Option("--format", metavar="NAME", help="The logs' format; auto looks at each file.")
    ] = "auto",
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Make memories of what the logs say, as if it had been said here; your own logs, say.",
        ),
    ] = False,
    wait: Wait = True,
) -> int | None:
    """Bring in logs. What is there already is skipped, so the same command resumes an import.

    What was said is found by every search at once. It becomes long-term memory only with --trust, also later.

    Exits with 3 when some lines could not be read; the others are stored.
    """
    missing = [str(path) for path in files if not path.exists()]
    if missing:
        raise NotFoundError(t("there is no file {names}", names=", ".join(missing)))
    with cli.memory(create=True) as memory:
        report = _import_files(cli, files, memory, format, trusted=trust)
        pending = wait_for_jobs(cli, memory) if wait else 0
    if report.imported and not trust and not _all_exports(files):
        cli.note(t("no memories are made of imported text; if you trust it: the same command with --trust"))
    return _finish(cli, report, pending)


def migrate_jsonl(
    cli: Cli,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of JSONL sessions.")],
    wait: Wait = True,
) -> int | None:
    """Move JSONL sessions into the database. The files stay; what is there already is skipped."""
    if not folder.is_dir():
        raise NotFoundError(t("there is no folder {path}", path=folder))
    # Importing a log needs no more than the store; --help needs neither.
    from orca.importers import migrate_directory

    with cli.memory(create=True) as memory:
        with cli.render.progress(t("migrating"), total=None) as advance:
            report = migrate_directory(folder, memory=memory, scope=cli.scope, progress=advance)
        pending = wait_for_jobs(cli, memory) if wait else 0
    return _finish(cli, report, pending)


def _import_files(
    cli: Cli, paths: list[Path], memory: MemoryManager, log_format: str, *, trusted: bool
) -> ImportReport:
    # The importers are needed once a file is known to exist; --help does not wait for them.
    from orca.importers import import_files

    with cli.render.progress(t("importing"), total=None, bytes_=True) as advance:
        return import_files(
            paths, memory=memory, scope=cli.scope, format=log_format, trusted=trusted, progress=advance
        )


def _all_exports(paths: list[Path]) -> bool:
    """Whether Orca's own exports were all there was, which bring their memories along."""
    # As above.
    from orca.importers.export_file import is_export

    return all(path.is_file() and is_export(path) for path in paths)


def _finish(cli: Cli, report: ImportReport, pending: int) -> int:
    got = report.imported or report.skipped
    code = 0 if not report.errors and not pending else 3 if got else 1
    if cli.json:
        return cli.finish(report, code)
    cli.render.import_report(report)
    if pending:
        cli.note(
            t(
                "{n} rows wait for their vectors and are found by keyword meanwhile; why: orca status",
                n=pending,
            )
        )
    return code

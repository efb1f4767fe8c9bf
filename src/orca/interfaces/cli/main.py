"""The entry points of the command line: ``orca`` and ``migrate-jsonl-to-sqlite``.

Exit codes: 0 done, 1 failed, 2 wrong use, 3 done in part, 130 interrupted. An error is one line on standard
error; with ``--json`` it is also the one document, ``{"error": {"type", "message"}}``.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer

from orca.config import Language, language, load_settings
from orca.errors import ConfigError, OrcaError
from orca.interfaces.cli import (
    archive,
    chat,
    demo,
    forgetting,
    health,
    importing,
    memories,
    output,
    recalling,
    runs,
    serve,
    sessions,
)
from orca.interfaces.cli.help import OrcaHelpGroup
from orca.interfaces.cli.i18n import t, usage_error, use
from orca.interfaces.cli.options import common_options

FAILED, WRONG_USE, IN_PART, INTERRUPTED = 1, 2, 3, 130


class OrcaGroup(OrcaHelpGroup):
    """The ``orca`` command: sets language and streams, and turns every error into a line and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command that ``args`` ask for; leave with its exit code, or return it."""
        words = list(sys.argv[1:] if args is None else args) or ["--help"]
        flags = words[: words.index("--")] if "--" in words else words
        output.use_utf8()
        use(_language(flags))
        _log(debug="--debug" in flags)
        extra["windows_expand_args"] = windows_expand_args and args is None
        code = self._run(words, prog_name or "orca", complete_var, flags, extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(
        self,
        words: list[str],
        prog_name: str,
        complete_var: str | None,
        flags: list[str],
        extra: dict[str, Any],
    ) -> int:
        interrupted = t("interrupted; what was done is kept, and the same command goes on from there")
        try:
            code = super().main(words, prog_name, complete_var, standalone_mode=False, **extra)
        except typer.TyperException as error:
            return _report(error, flags, usage_error(error.format_message()), error.exit_code)
        except (typer.Abort, KeyboardInterrupt) as error:
            return _report(error, flags, interrupted, INTERRUPTED)
        except ConfigError as error:  # a value of an option, or of the settings, that cannot be used
            return _report(error, flags, str(error), WRONG_USE)
        except OrcaError as error:
            return _report(error, flags, str(error), FAILED)
        except Exception as error:  # noqa: BLE001 - nothing may end in a traceback; --debug shows it
            reason = f"{type(error).__name__}: {error}"
            return _report(
                error, flags, t("unexpected error: {reason}; --debug shows more", reason=reason), FAILED
            )
        if code == INTERRUPTED:  # typer turns the keyboard's interruption into this code, and says nothing
            return _report(KeyboardInterrupt(), flags, interrupted, INTERRUPTED)
        return code if isinstance(code, int) else 0


def _report(error: BaseException, flags: Sequence[str], message: str, code: int) -> int:
    message = " ".join(message.split())
    if "--debug" in flags:
        output.note("".join(traceback.format_exception(error)).rstrip())
    if "--json" in flags:
        kind = "UsageError" if isinstance(error, typer.TyperException) else type(error).__name__
        with suppress(OSError):  # it may be standard output that failed; the line that follows says so
            output.print_json({"error": {"type": kind, "message": message}})
    output.note(t("orca: {message}", message=message))
    if isinstance(error, typer.TyperException):
        path = getattr(getattr(error, "ctx", None), "command_path", "orca")
        output.note(t("See: {command} --help", command=path))
    return code


def _language(flags: Sequence[str]) -> Language:
    for index, word in enumerate(flags):
        if word == "--lang" or word.startswith("--lang="):
            wanted = word.removeprefix("--lang=") if "=" in word else "".join(flags[index + 1 : index + 2])
            if wanted in ("zh", "en"):
                return "zh" if wanted == "zh" else "en"
    try:
        return "zh" if load_settings().cli.language == "zh" else "en"
    except ConfigError:  # reported by the command that needs the settings; help must work without them
        return language()


class _Notes(logging.Handler):
    """Says what is logged on the standard error of the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say one record."""
        output.note(self.format(record))


def _log(*, debug: bool) -> None:
    handler = _Notes()
    layout = "%(levelname)s %(name)s: %(message)s" if debug else "orca: %(message)s"
    handler.setFormatter(logging.Formatter(layout))
    root = logging.getLogger("orca")
    root.handlers[:] = [handler]
    root.setLevel(logging.DEBUG if debug else logging.WARNING)


app = typer.Typer(
    cls=OrcaGroup,
    name="orca",
    help="Orca keeps what was said and brings back what matters, within a budget of tokens.\n\n"
    "Start with: orca demo",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        # Reading package metadata takes as long as building all commands, for this one option.
        from importlib import metadata

        output.say(f"orca {metadata.version('orca-agent')}")
        raise typer.Exit


@app.callback()
@common_options
def _root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


for _module in (
    demo,
    importing,
    recalling,
    chat,
    memories,
    forgetting,
    sessions,
    runs,
    health,
    archive,
    serve,
):
    _module.register(app)


def main() -> None:
    """Run ``orca``."""
    app()


def migrate_jsonl_to_sqlite() -> None:
    """Run ``orca migrate-jsonl``, under the name that it had first."""
    typer.main.get_command(app).main(["migrate-jsonl", *sys.argv[1:]], prog_name="orca")

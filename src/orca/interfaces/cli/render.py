"""Tables, panels and bars for people. Everything here speaks through Rich, which knows widths, pipes and NO_COLOR."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from orca.health import ImportReport, Report, Status
from orca.interfaces.cli.help import wrap
from orca.interfaces.cli.i18n import t, why
from orca.interfaces.cli.output import harmless
from orca.text.parts import plain_text
from orca.types import (
    Context,
    ContextItem,
    Hit,
    Memory,
    Message,
    Session,
    SubAgentMessage,
    SubAgentRun,
)

BAR = 40
"""Columns of a token bar."""

_SHOWN_ERRORS = 20
_BEGINNING = 160
Advance = Callable[[int, int], None]


def console() -> Console:
    """Return a console on the standard output of this moment."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=False)


def line(text: str, style: str = "") -> None:
    """Print one line; nothing in it is read as markup."""
    console().print(Text(harmless(text), style=style), soft_wrap=True)


def table(title: str | None, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, or a line that says there is nothing."""
    if not rows:
        line(t("nothing there"), "dim")
        return
    drawn = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False, expand=False)
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(harmless(cell)) for cell in row))
    console().print(drawn)


def panel(title: str, body: str, style: str = "cyan") -> None:
    """Print a text in a frame."""
    console().print(
        Panel(Text(harmless(body)), title=Text(harmless(title)), title_align="left", border_style=style)
    )


def counts(title: str, numbers: Mapping[str, int]) -> None:
    """Print how many of what."""
    line(f"{title}: " + ", ".join(f"{t(name)} {number}" for name, number in numbers.items()))


def warn_degraded(reason: str | None) -> None:
    """Say on standard error why something was missing."""
    if reason:
        Console(file=sys.stderr, highlight=False).print(
            Text(harmless(t("degraded: {reason}", reason=why(reason))), style="yellow")
        )


def hits(found: Sequence[Hit], *, explain: bool = False, degraded: str | None = None) -> None:
    """Print recalled rows, with what each lane gave when ``explain`` is set."""
    warn_degraded(degraded)
    headings = [t("score"), t("kind"), t("session"), t("text")]
    rows = []
    for hit in found:
        row = [f"{hit.score:.2f}", f"{t(hit.kind)} {hit.id}", hit.session or "", said(hit)]
        rows.append([*row, lanes(hit)] if explain else row)
    table(None, [*headings, t("lanes")] if explain else headings, rows)


def said(hit: Hit) -> str:
    """Return a hit's text with who said it."""
    speaker = hit.name or (t(hit.role) if hit.role else "")
    return t("{speaker}: {text}", speaker=speaker, text=hit.content) if speaker else hit.content


def lanes(hit: Hit) -> str:
    """Return what each lane gave to a hit, as ``dense #1 0.83``."""
    return ", ".join(f"{t(name)} #{lane.rank} {lane.score:.2f}" for name, lane in hit.lanes.items())


def answer(found: Sequence[Hit], reason: str | None) -> None:
    """Print what the memory answers when there is no model."""
    warn_degraded(reason)
    if not found:
        line(t("Kept. Nothing earlier fits it."), "dim")
        return
    line(t("Kept. This is what I recall:"))
    for hit in found:
        line(f"  · {said(hit)}  ({_when(hit.created_at)})")


def context(built: Context) -> None:
    """Print an assembled prompt and its ledger."""
    warn_degraded(built.degraded)
    for message in built.messages:
        text = plain_text(message.get("content"))
        panel(str(message.get("role", "")), text or _calls(message.get("tool_calls")))
    ledger(built)


def ledger(built: Context, *, short: bool = False) -> None:
    """Print what was a candidate for the prompt, what entered, and why; ``short`` joins rows that say the same."""
    groups = groupby(built.items, key=lambda item: (item.tier, item.included, item.reason, short or id(item)))
    rows = [_ledger_row(list(items)) for _, items in groups]
    table(t("Ledger"), [t("tier"), t("row"), t("tokens"), t("score"), t("in"), t("reason")], rows)
    token_bar(built)


def ledger_of_turn(built: Context) -> None:
    """Print the ledger with the beginnings of the texts: what entered the prompt, then what was left out."""
    warn_degraded(built.degraded)
    screen = console()
    for title, included in ((t("In the prompt"), True), (t("Left out"), False)):
        items = [item for item in built.items if item.included is included]
        if items or included:
            line(t("{title} ({n})", title=title, n=len(items)), "bold")
        for item in items:
            tier, row, tokens, score, mark, reason = _ledger_row([item])
            figures = [f"{mark} {tier} {row}".rstrip(), t("{n} tokens", n=tokens), score, reason]
            line("  " + " · ".join(filter(None, figures)), "" if included else "dim")
            said = Text("    " + _beginning(harmless(item.text)), style="dim")
            if item.text.strip():
                screen.print(said, no_wrap=True, overflow="ellipsis")
    token_bar(built)


def _beginning(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _BEGINNING else flat[: _BEGINNING - 1] + "…"


def _ledger_row(items: list[ContextItem]) -> list[str]:
    first, last = items[0], items[-1]
    ids = "" if first.id is None else str(first.id) if len(items) == 1 else f"{first.id} … {last.id}"
    score = "" if first.score is None else f"{first.score:.2f}"
    tokens = str(sum(item.tokens for item in items))
    return [t(first.tier), ids, tokens, score, "✓" if first.included else "–", why(first.reason)]


def token_bar(built: Context) -> None:
    """Print how much of the budget is used."""
    used = min(BAR, round(BAR * built.tokens / built.budget)) if built.budget else BAR
    figures = t("{tokens} of {budget} tokens", tokens=built.tokens, budget=built.budget)
    over = "  " + t("over budget") if built.over_budget else ""
    line("█" * used + "░" * (BAR - used) + f"  {figures}{over}")


def memories(found: Sequence[Memory]) -> None:
    """Print long-term memories."""
    headings = [t("id"), t("kind"), t("text"), t("state"), t("from"), t("since")]
    table(
        None,
        headings,
        [
            [
                str(item.id),
                t(item.kind),
                item.content,
                t("pinned") if item.pinned else t(item.state),
                t(item.origin),
                _when(item.valid_from or item.created_at),
            ]
            for item in found
        ],
    )


def history(versions: Sequence[Memory]) -> None:
    """Print every version of a memory and where it came from."""
    table(
        None,
        [t("id"), t("text"), t("state"), t("valid"), t("from")],
        [
            [
                str(item.id),
                item.content,
                t(item.state),
                f"{_when(item.valid_from)} – {_when(item.valid_to)}",
                _source(item),
            ]
            for item in versions
        ],
    )


def sessions(found: Sequence[Session]) -> None:
    """Print conversations."""
    table(
        None,
        [t("session"), t("title"), t("state"), t("messages"), t("summaries"), t("last")],
        [
            [
                item.id,
                item.title or "",
                t(item.state),
                str(item.message_count),
                str(item.summary_count),
                _when(item.updated_at or item.created_at),
            ]
            for item in found
        ],
    )


def prose(text: str, *, error: bool = False) -> None:
    """Print a text whose lines break between words; in a pipe they stay as they are."""
    screen = Console(file=sys.stderr, highlight=False) if error else console()
    for one in harmless(text).split("\n"):
        lines = wrap(one, screen.width) if screen.is_terminal and not one.startswith(" ") else [one]
        screen.print(Text("\n".join(lines)), soft_wrap=True)


def messages(found: Sequence[Message | SubAgentMessage]) -> None:
    """Print messages as they were said."""
    for item in found:
        line(f"{_when(item.timestamp)}  {item.name or t(item.role)}", "bold")
        prose(plain_text(item.content) or _calls(item.tool_calls))


def runs(found: Sequence[SubAgentRun]) -> None:
    """Print sub-agent runs."""
    table(
        None,
        [t("run"), t("agent"), t("session"), t("state"), t("tokens"), t("task")],
        [[str(run.id), run.agent, run.session, t(run.status), str(run.tokens), run.task] for run in found],
    )


def trace(run: SubAgentRun, steps: Sequence[SubAgentMessage]) -> None:
    """Print a run's bounded summary, then its whole trace."""
    panel(t("what the conversation was given"), run.summary or run.error or "", "green")
    messages(steps)


def status(found: Status) -> None:
    """Print a store's health in words."""
    line(f"{found.backend}  {found.location}", "bold")
    counts(t("rows"), found.counts)
    line(t("embeddings: {name}", name=found.embedder or t("off")))
    line(t("chat model: {name}", name=found.chat_model or t("none: summaries and facts by rule")))
    line(t("tokens counted by: {name}", name=found.counter))
    for space in found.spaces:
        mark = t("current") if space.current else t("kept")
        counts(f"{space.key} ({space.dimensions}, {mark})", space.vectors)
    for entry in found.backlog:
        line(
            t("waiting: {n} × {kind}: {reason}", n=entry.count, kind=entry.kind, reason=why(entry.reason)),
            "yellow",
        )
    for reason in found.degraded:
        line(t("degraded: {reason}", reason=why(reason)), "yellow")
    if not found.degraded and not found.backlog:
        line(t("everything works, nothing waits"), "green")


def report(found: Report) -> None:
    """Print what was verified."""
    rows = [["✓" if check.ok else "✗", why(check.name), why(check.detail)] for check in found.checks]
    table(None, [t("ok"), t("check"), t("figures")], rows)
    line(
        t("all checks hold") if found.ok else t("something is wrong; try: orca reindex"),
        "green" if found.ok else "red",
    )


def import_report(found: ImportReport) -> None:
    """Print what an import did, and the lines that could not be read."""
    line(
        t(
            "imported {imported} in {sessions} sessions, {skipped} were there already, {errors} could not be read",
            imported=found.imported,
            sessions=found.sessions,
            skipped=found.skipped,
            errors=len(found.errors),
        )
    )
    for error in found.errors[:_SHOWN_ERRORS]:
        line(_import_error(error), "red")
    if len(found.errors) > _SHOWN_ERRORS:
        line(t("… and {n} more; --json lists all", n=len(found.errors) - _SHOWN_ERRORS), "red")


@contextmanager
def progress(label: str, *, total: int | None, bytes_: bool = False) -> Iterator[Advance]:
    """Show a bar on standard error for a block, which calls ``advance(done, total)``; none where nobody watches."""
    screen = Console(file=sys.stderr)
    figures = DownloadColumn() if bytes_ else MofNCompleteColumn()
    shown = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        figures,
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )
    with shown:
        task = shown.add_task(label, total=total)
        yield lambda done, whole: shown.update(task, completed=done, total=whole)


def _when(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _source(item: Memory) -> str:
    where = item.source_session or ""
    ids = ", ".join(f"#{number}" for number in item.source_message_ids)
    return " ".join(part for part in (t(item.origin), where, ids) if part)


def _calls(calls: object) -> str:
    if not isinstance(calls, list | tuple):
        return ""
    names = (call.get("function", {}).get("name", "") for call in calls if isinstance(call, Mapping))
    return t("calls {names}", names=", ".join(names))


def _import_error(error: Mapping[str, object]) -> str:
    file, number, reason = (error.get(key) for key in ("file", "line", "reason"))
    if number is None:  # the file as a whole
        return t("{file}: {reason}", file=file, reason=reason)
    return t("{file}, line {line}: {reason}", file=file, line=number, reason=reason)

"""What ``orca demo`` does: load, embed, recall, and check the outcome.

It checks itself: every question in samples/questions.json names words that its answer holds, and a question
whose answer is not recalled makes the demo fail.
"""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orca.config import Settings
from orca.errors import ConfigError, ConflictError, StoreError
from orca.health import Status
from orca.importers import import_files
from orca.interfaces.cli import demo_view
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.invocation import Cli, has_model
from orca.interfaces.cli.waiting import wait_for_jobs
from orca.memory.ranking import best_hits
from orca.sections import AgentSettings, EmbeddingSettings
from orca.types import (
    Context,
    Hit,
    Memory,
    Message,
    Scope,
    Session,
    SubAgentMessage,
    SubAgentRun,
)
from orca.values import is_file_url, redact_url

if TYPE_CHECKING:
    from orca.memory.manager import MemoryManager

LIMIT = 10
"""An answer counts as recalled when it is among this many hits, the default of ``orca recall``."""

WINDOW_TOKENS = 2048
"""A small window for the prompt that is shown: large enough for every tier, small enough to see what is left out."""

DEMO_EMBEDDING = EmbeddingSettings(provider="local")
"""The demo embeds without a key or a network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, the languages it is asked and was told in, and words of which a right answer holds one."""

    text: str
    asked_in: str
    told_in: str
    expect: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was recalled for a question: the first hit that holds an expected word, its rank from 1, the time taken."""

    question: Question
    rank: int | None
    hit: Hit | None
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that the demo shows."""

    db: str
    status: Status
    sessions: Sequence[Session]
    working: Sequence[Message]
    short_term: Sequence[Hit]
    long_term: Sequence[Memory]
    answers: Sequence[Answer]
    question: str
    context: Context
    run: SubAgentRun
    trace: Sequence[SubAgentMessage]
    pending: int
    next: Sequence[str]

    @property
    def ok(self) -> bool:
        """Whether every expected answer was recalled and every text has its vector."""
        return all(answer.hit for answer in self.answers) and not self.pending


def run(cli: Cli) -> int:
    """Run the demo and return its exit code."""
    db = (cli.options.db and cli.url) or str(Path(tempfile.mkdtemp(prefix="orca-demo-")) / "demo.db")
    if is_file_url(db) and Path(db).exists():
        raise ConflictError(t("{path} exists already; the demo wants a fresh file", path=db))
    settings = Settings(embedding=DEMO_EMBEDDING)
    with cli.memory(create=True, url=db, settings=settings) as memory:
        _load(cli, memory)
        pending = wait_for_jobs(cli, memory)
        facts = _gather(cli, memory, db, pending)
    code = 0 if facts.ok else 1
    if cli.json:
        return cli.finish(_document(facts), code)
    demo_view.show(cli.render, facts)
    return code or _talk(cli, facts)


def _talk(cli: Cli, facts: Facts) -> int:
    """Go on in a chat over the demo's memory where there is a model and a person; else say what it takes."""
    try:
        settings = cli.settings
    except ConfigError as error:  # the demo needs no settings; a chat does
        cli.note(t("orca: {message}", message=error))
        return 0
    if not has_model(settings):
        path = settings.home / "config.toml"
        cli.note(
            t("orca chat answers in its own words once a model is named under [llm] in {path}.", path=path)
        )
        return 0
    # The agent and the model's client take over a second to import; the demo without a model needs neither.
    from orca.interfaces.cli import chat_run, chat_terminal

    if not chat_terminal.is_terminal():
        return 0
    settings = replace(settings, embedding=DEMO_EMBEDDING)
    if not settings.agents and is_file_url(facts.db):
        settings = _with_coder(settings, Path(facts.db).with_name("workspace"))
    cli.render.line("")
    cli.render.line(t("Now talk to it. Ask about anything above."), "bold")
    scope = cli.scope_of(_going_on(facts.sessions).id)
    with cli.memory(create=True, url=facts.db, settings=settings) as memory:
        return chat_run.run(cli, memory, scope, once=None, settings=settings)


def _with_coder(settings: Settings, workspace: Path) -> Settings:
    """Return settings with a sub-agent that works on files, in a folder beside the demo's database."""
    if not settings.tools.workspace:
        workspace.mkdir(exist_ok=True)
        settings = replace(settings, tools=replace(settings.tools, workspace=str(workspace)))
    coder = AgentSettings(
        description=t("writes and mends programs and texts in the workspace"),
        tools=("list_files", "read_file", "search_files", "write_file"),
    )
    return replace(settings, agents={"coder": coder})


def questions() -> list[Question]:
    """Return the questions that ship beside the sample conversation."""
    text = resources.files("orca.samples").joinpath("questions.json").read_text(encoding="utf-8")
    return [
        Question(
            text=item["question"],
            asked_in=item["asked_in"],
            told_in=item["told_in"],
            expect=tuple(item["expect"]),
        )
        for item in json.loads(text)
    ]


def _load(cli: Cli, memory: MemoryManager) -> None:
    with (
        resources.as_file(resources.files("orca.samples")) as samples,
        cli.render.progress(t("importing"), total=None, bytes_=True) as advance,
    ):
        # The folder as a whole, so that the sub-agent's transcript finds the conversation that it belongs to.
        report = import_files(
            [samples], memory=memory, scope=cli.scope, format="auto", trusted=True, progress=advance
        )
    if report.errors or not report.imported:
        raise StoreError(t("the sample could not be loaded: {reason}", reason=report.errors or "empty"))
    for session in memory.sessions(user=cli.scope.user)[:-1]:  # the last one goes on
        memory.end_session(scope=cli.scope_of(session.id))


def _going_on(sessions: Sequence[Session]) -> Session:
    """Return the session that was not ended."""
    return next(session for session in reversed(sessions) if session.state == "open")


def _gather(cli: Cli, memory: MemoryManager, db: str, pending: int) -> Facts:
    sessions = memory.sessions(user=cli.scope.user)
    scope = cli.scope_of(_going_on(sessions).id)
    asked = questions()
    run, trace = _run(cli, memory, sessions)
    return Facts(
        db=db,
        status=memory.status(),
        sessions=sessions,
        working=memory.get_working_memory(scope=scope),
        short_term=memory.get_short_term_memory(scope=scope, query=asked[0].text),
        long_term=memory.memories(scope=scope),
        answers=[_ask(memory, scope, question) for question in asked],
        question=asked[0].text,
        context=memory.build_context(scope=scope, query=asked[0].text, window_tokens=WINDOW_TOKENS),
        run=run,
        trace=trace,
        pending=pending,
        next=_next(cli, db, scope, asked, run),
    )


def _ask(memory: MemoryManager, scope: Scope, question: Question) -> Answer:
    began = time.perf_counter()
    hits = best_hits(memory.recall(scope=scope, query=question.text, limit=LIMIT), LIMIT)
    took = 1000 * (time.perf_counter() - began)
    for rank, hit in enumerate(hits, start=1):
        if any(word in hit.content for word in question.expect):
            return Answer(question=question, rank=rank, hit=hit, milliseconds=took)
    return Answer(question=question, rank=None, hit=None, milliseconds=took)


def _run(
    cli: Cli, memory: MemoryManager, sessions: Sequence[Session]
) -> tuple[SubAgentRun, list[SubAgentMessage]]:
    for session in sessions:
        for run in memory.subagent_runs(scope=cli.scope_of(session.id)):
            if run.id is not None:
                return run, memory.subagent_messages(run_id=run.id, user=cli.scope.user)
    raise StoreError(t("the sample's sub-agent run was not imported"))


def _next(cli: Cli, db: str, scope: Scope, asked: Sequence[Question], run: SubAgentRun) -> list[str]:
    common = f"--db {shlex.quote(redact_url(db))}" + (
        f" --user {shlex.quote(scope.user)}" if cli.options.user else ""
    )
    session = f"--session {shlex.quote(scope.session)}"
    return [
        f"orca recall {shlex.quote(asked[-1].text)} --explain {common}",
        f"orca context {shlex.quote(asked[0].text)} {session} {common}",
        f"orca memories list {common}",
        f"orca runs show {run.id} {common}",
        f"orca chat {session} {common}",
        f"orca status {common}",
        f"orca serve {common}",
    ]


def _document(facts: Facts) -> Mapping[str, Any]:
    return {
        "ok": facts.ok,
        "db": redact_url(facts.db),
        "embedder": facts.status.embedder,
        "counts": facts.status.counts,
        "pending": facts.pending,
        "sessions": facts.sessions,
        "short_term": facts.short_term,
        "long_term": facts.long_term,
        "questions": facts.answers,
        "context": facts.context,
        "run": facts.run,
        "trace_messages": len(facts.trace),
        "next": facts.next,
    }

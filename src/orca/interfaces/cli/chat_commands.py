"""What can be typed in a chat besides messages: the slash commands."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orca.errors import ConflictError, NotFoundError, OrcaError, StoreUnavailableError
from orca.interfaces.cli.chat_conversation import Conversation
from orca.interfaces.cli.chat_markdown import one_line
from orca.interfaces.cli.confirm import confirmed
from orca.interfaces.cli.i18n import t
from orca.interfaces.cli.output import as_json
from orca.interfaces.cli.runs import all_runs
from orca.text.parts import plain_text
from orca.types import Message

LAST_MESSAGES = 4
"""Messages that are shown of a conversation that goes on: its last two exchanges."""

Offers = Callable[[Conversation], Iterable[tuple[str, str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command: what it is called with, what it does, and what may complete its argument.

    ``run`` gets the argument, empty when there is none, and returns whether the chat goes on.
    """

    argument: str
    about: str
    run: Callable[[Conversation, str], bool]
    offers: Offers = lambda _: ()


def obey(chat: Conversation, line: str) -> bool:
    """Do what a line that begins with a slash says; return whether the chat goes on."""
    name, _, argument = line.strip().partition(" ")
    command = COMMANDS.get(ALIASES.get(name, name))
    if command is None:
        chat.cli.prose(_unknown(name))
        return True
    try:
        return command.run(chat, argument.strip())
    except OrcaError as error:
        chat.cli.prose(t("orca: {message}", message=" ".join(str(error).split())))
        return True


def offers(chat: Conversation, name: str, start: str) -> Iterable[tuple[str, str]]:
    """Return completions with their meanings: of commands, or of the argument of the command ``name``."""
    if not name:
        return [(known, t(command.about)) for known, command in COMMANDS.items()]
    command = COMMANDS.get(name)
    found = command.offers(chat) if command else ()
    return [(text, meaning) for text, meaning in found if text.startswith(start)]


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, [*COMMANDS, *ALIASES], n=1, cutoff=0.5)
    if near:
        return t("There is no {name}. Did you mean {near}?", name=name, near=near[0])
    return t(
        "There is no {name}. /help lists what can be typed; a message may begin with a blank.", name=name
    )


def _context(chat: Conversation, argument: str) -> bool:
    del argument
    context = chat.context or chat.memory.build_context(scope=chat.scope, query=chat.query)
    chat.cli.render.ledger_of_turn(context)
    return True


def _memory(chat: Conversation, argument: str) -> bool:
    del argument
    chat.cli.render.memories(chat.memory.memories(scope=chat.scope))
    return True


def _forget(chat: Conversation, argument: str) -> bool:
    memory_id = _number(argument, "/forget")
    if memory_id is not None:
        versions = chat.memory.history(scope=chat.scope, id=memory_id)
        text = versions[-1].content
        question = t("Forget “{text}” with its {n} versions?", text=text, n=len(versions))
        if confirmed(chat.cli, question, False):
            chat.memory.forget(scope=chat.scope, id=memory_id)
            chat.cli.note(t("Forgotten: {text}", text=text))
    return True


def _runs(chat: Conversation, argument: str) -> bool:
    del argument
    chat.cli.render.runs(chat.memory.subagent_runs(scope=chat.scope))
    return True


def _run(chat: Conversation, argument: str) -> bool:
    run_id = _number(argument, "/run")
    if run_id is not None:
        found = next((run for run in all_runs(chat.cli, chat.memory) if run.id == run_id), None)
        if found is None:
            raise NotFoundError(t("there is no run {run} of user {user}", run=run_id, user=chat.scope.user))
        chat.cli.render.runs([found])
        trace = chat.memory.subagent_messages(run_id=run_id, user=chat.scope.user)
        chat.cli.render.trace(found, trace)
    return True


def _session(chat: Conversation, argument: str) -> bool:
    if not argument:
        chat.cli.render.sessions(chat.memory.sessions(user=chat.scope.user))
        chat.cli.note(
            t("This is {name}. /session NAME goes to another or a new one.", name=chat.scope.session)
        )
        return True
    chat.scope = replace(chat.scope, session=argument)
    chat.context = chat.query = None
    arrive(chat)
    return True


def arrive(chat: Conversation) -> None:
    """Say where the conversation is, and what was said there last."""
    last = chat.memory.messages(scope=chat.scope, limit=LAST_MESSAGES)
    if not last:
        chat.cli.note(t("New conversation {name}.", name=chat.scope.session))
        return
    count = chat.memory.session(scope=chat.scope).message_count
    chat.cli.note(t("Conversation {name}, {n} messages. It went on:", name=chat.scope.session, n=count))
    for message in last:
        text = one_line(plain_text(message.content), 200)
        if text and message.role in ("user", "assistant"):
            speaker = message.name or t(message.role)
            chat.cli.render.line("  " + t("{speaker}: {text}", speaker=speaker, text=text), "dim")


def _model(chat: Conversation, argument: str) -> bool:
    if argument:
        chat.use_model(argument)
    if chat.agent is None:
        chat.cli.note(t("There is no model: this is the memory alone. /model NAME takes one."))
    else:
        others = [name for name in chat.models if name != chat.agent.model.name]
        known = t(" Also known: {names}.", names=", ".join(others)) if others else ""
        address = chat.settings.llm.base_url
        chat.cli.note(t("Talking to {name} at {url}.", name=chat.agent.model.name, url=address) + known)
    return True


def _export(chat: Conversation, argument: str) -> bool:
    name = re.sub(r"[^\w.-]+", "-", chat.scope.session).strip(".-") or "chat"
    path = Path(argument or f"{name}.md").expanduser()
    messages = chat.memory.messages(scope=chat.scope, limit=None)
    if not messages:
        raise NotFoundError(t("nothing was said in {name} yet", name=chat.scope.session))
    text = _as_lines(messages) if path.suffix == ".jsonl" else _as_markdown(chat.scope.session, messages)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConflictError(t("{path} exists already; name another file", path=path)) from error
    except OSError as error:
        raise StoreUnavailableError(
            t("cannot write {path}: {reason}", path=path, reason=error.strerror)
        ) from error
    chat.cli.note(t("{n} messages written to {path}", n=len(messages), path=path))
    return True


def _as_markdown(session: str, messages: Iterable[Message]) -> str:
    """Return a conversation to read: what was said, and which tools were called."""
    parts = [f"# {session}"]
    for message in messages:
        calls = [str(call.get("function", {}).get("name")) for call in message.tool_calls or ()]
        said = [plain_text(message.content), *(f"*{t('calls {names}', names=name)}*" for name in calls)]
        when = f"{message.timestamp:%Y-%m-%d %H:%M} UTC" if message.timestamp else ""
        body = "\n\n".join(part for part in said if part)
        parts.append(f"## {message.name or t(message.role)} · {when}\n\n{body}".rstrip())
    return "\n\n".join(parts) + "\n"


def _as_lines(messages: Iterable[Message]) -> str:
    """Return a conversation as the plain log that ``orca import`` reads."""
    lines = []
    for message in messages:
        row: Mapping[str, Any] = {
            "session": message.session,
            "timestamp": message.timestamp,
            "role": message.role,
            "content": message.content,
            "name": message.name,
            "tool_calls": message.tool_calls,
            "tool_call_id": message.tool_call_id,
            "metadata": message.metadata or None,
        }
        kept = {key: value for key, value in row.items() if value is not None or key == "content"}
        lines.append(json.dumps(as_json(kept), ensure_ascii=False) + "\n")
    return "".join(lines)


def _help(chat: Conversation, argument: str) -> bool:
    del argument
    rows = [[f"{name} {command.argument}".strip(), t(command.about)] for name, command in COMMANDS.items()]
    chat.cli.render.table(None, [t("type"), t("to")], rows)
    if sys.stdin.isatty():
        chat.cli.prose(
            t(
                "Enter sends, Esc Enter begins a new line, pasted lines stay together. Tab completes, ↑ brings back."
                " Ctrl-C stops an answer, Ctrl-D leaves. A line that begins with a blank is no command, and is not"
                " kept in the input history."
            )
        )
    return True


def _quit(chat: Conversation, argument: str) -> bool:
    del chat, argument
    return False


def _number(argument: str, command: str) -> int | None:
    """Return the number that a command was given. Raises ``NotFoundError`` for something else."""
    if not re.fullmatch(r"\d{1,18}", argument):
        raise NotFoundError(t("{command} wants a number, as in: {command} 3", command=command))
    return int(argument)


def _memory_offers(chat: Conversation) -> Iterable[tuple[str, str]]:
    return [(str(item.id), one_line(item.content, 60)) for item in chat.memory.memories(scope=chat.scope)]


def _run_offers(chat: Conversation) -> Iterable[tuple[str, str]]:
    runs = chat.memory.subagent_runs(scope=chat.scope)
    return [(str(run.id), one_line(f"{run.agent}: {run.task}", 60)) for run in reversed(runs)]


def _session_offers(chat: Conversation) -> Iterable[tuple[str, str]]:
    found = reversed(chat.memory.sessions(user=chat.scope.user))
    return [(item.id, t("{n} messages", n=item.message_count)) for item in found]


def _model_offers(chat: Conversation) -> Iterable[tuple[str, str]]:
    return [(name, "") for name in chat.models]


ALIASES: Mapping[str, str] = {
    "/exit": "/quit",
    "/memories": "/memory",
    "/sessions": "/session",
    "/?": "/help",
}

RETRY = "/retry"
"""The one command that is a turn; the chat's loop runs it."""

COMMANDS: Mapping[str, Command] = {
    "/context": Command(
        argument="", about="see what the last prompt was made of, what was left out, and why", run=_context
    ),
    "/memory": Command(argument="", about="list what is remembered about you", run=_memory),
    "/forget": Command(
        argument="ID", about="forget a memory with all its versions", run=_forget, offers=_memory_offers
    ),
    "/runs": Command(argument="", about="list what sub-agents did in this conversation", run=_runs),
    "/run": Command(argument="N", about="read a sub-agent's whole trace", run=_run, offers=_run_offers),
    "/session": Command(
        argument="[NAME]",
        about="list conversations, or go to another one",
        run=_session,
        offers=_session_offers,
    ),
    "/model": Command(
        argument="[NAME]", about="see the model, or talk to another one", run=_model, offers=_model_offers
    ),
    RETRY: Command(argument="", about="ask again for an answer that did not come", run=lambda *_: True),
    "/export": Command(
        argument="[FILE]",
        about="write this conversation to FILE.md, or to FILE.jsonl for orca import",
        run=_export,
    ),
    "/help": Command(argument="", about="show this list", run=_help),
    "/quit": Command(argument="", about="leave", run=_quit),
}

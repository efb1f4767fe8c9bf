"""When a turn is over, and the job that follows."""

from __future__ import annotations

from orca.errors import ConfigError
from orca.text.parts import plain_text
from orca.types import Content, Job, Message


def ends_turn(message: Message) -> bool:
    """Whether a message is a complete reply, after which the turn can be summarised."""
    return message.role == "assistant" and not message.tool_calls and not is_blank(message.content)


def summary_job(message: Message) -> Job:
    """Return the job that summarises the turn which a stored message ends. Raises ``ConfigError`` without an id."""
    if message.id is None:
        raise ConfigError("only a stored message can be summarised")
    return Job(
        kind="summarize",
        record="message",
        target_id=message.id,
        user=message.user,
        session=message.session,
        agent=message.agent,
    )


def is_blank(content: Content) -> bool:
    """Whether a content says nothing: no parts, or no words."""
    if isinstance(content, list):
        return not content
    return not plain_text(content).strip()

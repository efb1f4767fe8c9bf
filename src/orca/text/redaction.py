"""Masking secrets in text before anything is stored, indexed, embedded, logged or sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from orca.text.redaction_rules import AFTER_LABEL, LABELS, PASSWORD_NAME, RULES, TOKEN_NAME, Label, Rule
from orca.text.secret_values import is_token
from orca.types import Message, SubAgentMessage, SubAgentRun

MARK = "[redacted: {}]"
"""What stands in the place of a secret; the name says what it was."""

MAX_DEPTH = 100
"""Nested values deeper than this are left alone; storing them is refused anyway (``orca.text.jsonable``)."""

_MARKED = re.compile(r"\[redacted: [^\]\n]{1,60}\]")


class Redaction:
    """Masks what looks like a credential. Deterministic, thread-safe, without state; masking twice changes nothing."""

    def __init__(
        self, *, on: bool = True, allow: Iterable[str] = (), patterns: Iterable[str | re.Pattern[str]] = ()
    ) -> None:
        """``allow`` are texts or patterns of values that stay; ``patterns`` mask more, a group ``secret`` or all.

        Raises ``ValueError`` for a pattern that is no regular expression.
        """
        try:
            self._allow = [re.compile(text) for text in allow]
            own = [Rule("secret", (), re.compile(pattern)) for pattern in patterns]
        except re.error as error:
            raise ValueError(f"{error.pattern!r} is not a regular expression: {error}") from error
        self._rules: tuple[Rule, ...] = (*own, *RULES) if on else ()
        self._labels = LABELS if on else ()
        hints = [rule.hints for rule in self._rules] + [label.hints for label in self._labels]
        self._hints = tuple(dict.fromkeys(chain.from_iterable(hints)))
        self._always = any(not rule.hints for rule in self._rules)

    @property
    def on(self) -> bool:
        """Whether anything is masked."""
        return bool(self._rules)

    def text(self, text: str) -> str:
        """Return ``text`` with every secret replaced by a mark that names its kind."""
        lowered = _lowered(text)
        if not self._always and not self._hinted(lowered):
            return text
        for rule in self._rules:
            if not rule.hints or any(hint in lowered for hint in rule.hints):
                text = rule.pattern.sub(partial(self._masked, rule), text)
        for label in self._labels:
            if any(hint in lowered for hint in label.hints):
                text = self._labelled(label, text)
        return text

    def _hinted(self, lowered: str) -> bool:
        for hint in self._hints:  # noqa: SIM110 - most texts come by here, and a generator costs more than the search
            if hint in lowered:
                return True
        return False

    def optional(self, text: str | None) -> str | None:
        """Return ``text`` masked, None for None."""
        return None if text is None else self.text(text)

    def value(self, value: Any, *, depth: int = 0) -> Any:
        """Return a value of JSON's kinds with every text in it masked; a field named like a secret gives a hint."""
        if not self._rules or depth > MAX_DEPTH:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(key) if isinstance(key, str) else key: self._field(key, item, depth)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.value(item, depth=depth + 1) for item in value]
        return value

    def _field(self, key: Any, item: Any, depth: int) -> Any:
        if isinstance(key, str) and isinstance(item, str) and not self._allowed(item):
            if PASSWORD_NAME.fullmatch(key) and item and not _MARKED.search(item):
                return MARK.format("password")
            if TOKEN_NAME.fullmatch(key) and is_token(item):
                return MARK.format("secret")
        return self.value(item, depth=depth + 1)

    def _allowed(self, secret: str) -> bool:
        return any(pattern.fullmatch(secret) for pattern in self._allow)

    def _masked(self, rule: Rule, match: re.Match[str]) -> str:
        start, end = _span(match)
        secret = match.string[start:end]
        if self._stays(secret) or (rule.check is not None and not rule.check(match)):
            return match.group()
        before, after = match.string[match.start() : start], match.string[end : match.end()]
        return before + MARK.format(rule.name) + after

    def _labelled(self, label: Label, text: str) -> str:
        """Mask the values that follow a label. Labels are found first, as they are few and quick to find."""
        pieces: list[str] = []
        done = 0
        for named in label.names.finditer(_lowered(text)):
            if named.start() < done or (
                named.start() > 0 and _glued(text[named.start() - 1 : named.start() + 1])
            ):
                continue
            match = AFTER_LABEL.match(text, named.end())
            if match is None:
                continue
            start, end = _span(match)
            if self._stays(text[start:end]) or not label.check(named.group(), match):
                continue
            pieces += [text[done:start], MARK.format(label.name)]
            done = end
        return "".join([*pieces, text[done:]])

    def _stays(self, secret: str) -> bool:
        return self._allowed(secret) or _MARKED.search(secret) is not None


def _lowered(text: str) -> str:
    """Return the text in lower case and in the same length; a few letters, such as "İ", become two otherwise."""
    lowered = text.lower()
    return (
        lowered
        if len(lowered) == len(text)
        else "".join(char if len(char.lower()) > 1 else char.lower() for char in text)
    )


def _glued(pair: str) -> bool:
    """Whether a letter stands right before a word of letters, as in "monkey"; Han characters need no gap."""
    return pair.isascii() and pair.isalnum()


def _span(match: re.Match[str]) -> tuple[int, int]:
    """Return where the secret stands within what matched, without quotes and closing punctuation."""
    groups = match.groupdict()
    if groups.get("quoted"):
        return match.span("quoted")
    if groups.get("bare"):
        start, end = match.span("bare")
        return start, start + len(match.string[start:end].rstrip(".,;:)]}>\"'"))
    return match.span("secret") if groups.get("secret") else match.span()


MASKED = Redaction()
"""What is masked where nothing else was asked for."""


Spoken = TypeVar("Spoken", Message, SubAgentMessage)
"""What somebody said, in the main conversation or in a sub-agent's trace."""


def mask_message(message: Spoken, redaction: Redaction) -> Spoken:
    """Return a message, or a sub-agent's step, with the secrets of every field that holds text masked."""
    masked = {
        "content": redaction.value(message.content),
        "name": redaction.optional(message.name),
        "tool_calls": redaction.value(message.tool_calls),
        "reasoning": redaction.optional(message.reasoning),
        "metadata": redaction.value(message.metadata),
    }
    changed = {name: value for name, value in masked.items() if value != getattr(message, name)}
    return replace(message, **changed) if changed else message


def mask_run(run: SubAgentRun, redaction: Redaction) -> SubAgentRun:
    """Return a sub-agent's run with the secrets of its task, summary and error masked."""
    return replace(
        run,
        task=redaction.text(run.task),
        summary=redaction.optional(run.summary),
        error=redaction.optional(run.error),
    )

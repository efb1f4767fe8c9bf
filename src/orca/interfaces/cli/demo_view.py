"""How the demo is shown: the tiers, the answers, the prompt with its ledger, the sub-agent, and what to type next."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from orca.interfaces.cli.i18n import t
from orca.text.parts import plain_text

if TYPE_CHECKING:
    from orca.interfaces.cli.demo_run import Answer, Facts

_SHOWN = 6
_LINE = 100


def show(render: ModuleType, facts: Facts) -> None:
    """Print everything that the demo found."""
    _tiers(render, facts)
    _answers(render, facts)
    render.line("")
    said = [f"{message['role']}: {plain_text(message.get('content'))}" for message in facts.context.messages]
    render.panel(t("The prompt for “{question}”", question=facts.question), "\n".join(said), "blue")
    render.ledger(facts.context, short=True)
    _run(render, facts)
    _verdict(render, facts)


def _tiers(render: ModuleType, facts: Facts) -> None:
    counts = facts.status.counts
    render.counts(t("Loaded"), counts)
    render.line(t("embeddings: {name}", name=facts.status.embedder or t("off")))
    newest = facts.working[-_SHOWN:]
    said = [
        t("{speaker}: {text}", speaker=item.name or t(item.role), text=_short(plain_text(item.content)))
        for item in newest
    ]
    title = t("Working memory: the newest messages of this conversation ({n})", n=len(facts.working))
    render.panel(title, "\n".join(said), "green")
    title = t("Short-term memory: summaries of this conversation")
    render.panel(title, "\n".join(f"· {_short(hit.content)}" for hit in facts.short_term), "yellow")
    known = [f"· [{t(item.kind)}] {_short(item.content)}" for item in facts.long_term[-_SHOWN:]]
    title = t("Long-term memory: what is known across conversations ({n})", n=len(facts.long_term))
    render.panel(title, "\n".join(known), "cyan")


def _answers(render: ModuleType, facts: Facts) -> None:
    headings = [t("question"), t("asked/told"), t("rank"), t("what was recalled"), t("lanes")]
    render.table(t("Questions"), headings, [_row(render, answer) for answer in facts.answers])


def _row(render: ModuleType, answer: Answer) -> list[str]:
    question = answer.question
    languages = f"{question.asked_in}/{question.told_in}"
    if answer.hit is None:
        return [question.text, languages, "✗", t("not recalled"), ""]
    lanes = " ".join(f"{t(name)} #{lane.rank}" for name, lane in answer.hit.lanes.items())
    return [question.text, languages, str(answer.rank), _short(render.said(answer.hit)), lanes]


def _run(render: ModuleType, facts: Facts) -> None:
    run = facts.run
    render.line("")
    title = t("Sub-agent {name}: the conversation was given this", name=run.agent)
    render.panel(title, run.summary or run.error or "", "magenta")
    size = sum(len(plain_text(step.content)) for step in facts.trace)
    steps = len(facts.trace)
    text = t(
        "and not its {n} steps of {size} characters, which stay apart: orca runs show", n=steps, size=size
    )
    render.line(text)


def _verdict(render: ModuleType, facts: Facts) -> None:
    found = sum(1 for answer in facts.answers if answer.hit)
    slowest = max((answer.milliseconds for answer in facts.answers), default=0.0)
    text = t(
        "{found} of {n} answers recalled, the slowest in {ms:.0f} ms",
        found=found,
        n=len(facts.answers),
        ms=slowest,
    )
    render.line("")
    render.line(text, "green" if facts.ok else "red")
    if facts.pending:
        render.line(t("{n} rows wait for their vectors; why: orca status", n=facts.pending), "red")
    render.line("")
    render.line(t("Next, type:"), "bold")
    for line in facts.next:
        render.line(f"  {line}")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LINE else flat[: _LINE - 1] + "…"

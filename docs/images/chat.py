"""Draw chat.svg, a conversation as the terminal shows it: python docs/images/chat.py.

The model is scripted, so that the picture is the same each time; everything else is what ``orca chat`` does.
"""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

from orca import Scope, open_memory
from orca.agent.agent_spec import AgentSpec
from orca.agent.llm_agent import LLMAgent
from orca.config import Settings
from orca.interfaces.cli.chat_confirm import Confirmer
from orca.interfaces.cli.chat_conversation import Conversation
from orca.interfaces.cli.chat_run import footer
from orca.interfaces.cli.chat_view import LiveView
from orca.interfaces.cli.invocation import Cli, Options
from orca.testing import Reply, Request, ScriptedServer, stream_reply, tool_call

HERE = Path(__file__).parent

ANSWER = """你**只吃素**，对花生过敏，所以大闸蟹免了。苏州平江路附近：

| 店 | 招牌 | 人均 |
|---|---|---|
| 素然居 | 豆腐煲 | ¥80 |
| Green Table | mushroom noodles | ¥120 |

Green Table has an English menu, and cooks without peanuts.
"""


def main() -> None:
    """Hold the conversation and save the picture."""
    # Not a terminal, so that nothing of what moves is recorded, and only what stays is.
    screen = Console(
        record=True, width=76, force_terminal=False, color_system="truecolor", file=io.StringIO()
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedServer() as server,
        open_memory(Path(folder) / "chat.db", embedder=None, chat_model=None) as memory,
    ):
        memory.observe(
            scope=Scope(session="spring"), role="user", content="I only eat plants, and peanuts make me ill."
        )
        memory.remember(scope=Scope(), content="用户只吃素，对花生过敏。", kind="preference")
        server.otherwise(_answers)
        agent = LLMAgent(
            memory,
            model="demo-model",
            base_url=server.base_url,
            agents=[AgentSpec(name="researcher", description="finds things out")],
        )
        chat = Conversation(
            cli=Cli(Options()),
            memory=memory,
            scope=Scope(session="trip"),
            settings=Settings(),
            confirm=Confirmer(None),
            agent=agent,
        )
        question = "我到苏州吃什么好？ Anything with an English menu?"
        screen.print(Text.assemble(("› ", "bold cyan"), question))
        ended = chat.turn(agent, question, LiveView(screen))
        screen.print(Text(footer(ended.result), style="dim"))
        screen.print(Text("› ", style="bold cyan"))
    svg = screen.export_svg(title="orca chat", unique_id="orca-chat", font_aspect_ratio=0.61)
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # a picture loads nothing
    svg = re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)
    (HERE / "chat.svg").write_text(svg, encoding="utf-8")


def _answers(request: Request) -> Reply | None:
    if request.path != "/v1/chat/completions":
        return None
    last = request.body["messages"][-1]
    if last["role"] == "tool":
        return stream_reply(ANSWER)
    if last["content"].startswith("Find"):
        return stream_reply("素然居, Green Table: both near Pingjiang Road.")
    return stream_reply(
        tool_calls=[
            tool_call("memory_search", {"query": "吃 food allergy"}, id="a"),
            tool_call(
                "agent_call", {"agent": "researcher", "task": "Find vegetarian restaurants in Suzhou"}, id="b"
            ),
        ]
    )


if __name__ == "__main__":
    main()

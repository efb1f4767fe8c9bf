"""Streamed Markdown: whatever the pieces, nothing is lost, and lines fit the screen."""

from __future__ import annotations

import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from orca.interfaces.cli.chat_markdown import StreamedMarkdown, breaks, markdown, one_line
from orca.interfaces.cli.output import harmless

REPLY = """# 标题

第一段 with English，第二句。
第二行

1. one
2. two

   still two

```python
x = 1

y = 2
```

| a | b |
|---|---|
| 1 | 2 |

> quote

<div>not lost</div>

last"""


def drawn(text: str, width: int = 60) -> str:
    screen = Console(file=io.StringIO(), width=width, force_terminal=False)
    screen.print(markdown(text))
    return screen.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@given(st.lists(st.integers(1, 40), max_size=60))
def test_pieces_of_any_length_give_the_whole_in_order(sizes: list[int]) -> None:
    stream, complete, place = StreamedMarkdown(), "", 0
    for size in sizes:
        complete += stream.feed(REPLY[place : place + size])
        place += size
    complete += stream.feed(REPLY[place:])
    assert complete + stream.rest() == REPLY


def test_a_block_is_complete_only_when_the_next_begins() -> None:
    stream = StreamedMarkdown()
    assert stream.feed("```\ncode\n\nmore\n") == ""
    assert stream.feed("```\n") == ""
    assert stream.feed("\nnext\n") == "```\ncode\n\nmore\n```\n\n"
    assert stream.tail == "next\n"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_every_word_is_drawn_and_no_line_is_too_long(width: int) -> None:
    shown = drawn(REPLY, width)
    for word in (
        "标题",
        "第一段",
        "English",
        "第二行",
        "one",
        "still two",
        "x = 1",
        "y = 2",
        "quote",
        "<div>not lost</div>",
        "last",
    ):
        assert word in " ".join(shown.split()), word
    assert all(cell_len(line) <= width for line in shown.splitlines())
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_lines_stay_lines_and_links_show_where_they_lead() -> None:
    assert "床前明月光\n疑是地上霜" in drawn("床前明月光\n疑是地上霜")
    assert "http://example.com/x" in drawn("[safe.com](http://example.com/x)")


@given(st.text(alphabet="ab 中文，。（）—\u3000", max_size=80), st.integers(4, 30))
def test_breaks_keep_to_the_width(text: str, width: int) -> None:
    cuts = [0, *breaks(text, width), len(text)]
    assert cuts == sorted(cuts)
    for begin, end in itertools.pairwise(cuts):
        assert cell_len(text[begin:end].rstrip()) <= width


def test_closing_marks_do_not_begin_a_line() -> None:
    text = "一二三四，五六七八。"
    parts = [text[a:b] for a, b in zip([0, *breaks(text, 8)], [*breaks(text, 8), len(text)], strict=True)]
    assert not any(part.startswith(("，", "。")) for part in parts)


def test_what_commands_a_terminal_is_shown_and_not_done() -> None:
    assert harmless("a\x1b[2Jb\x07\u202ec\r\nd\te") == "a\\x1b[2Jb\\x07\\u202ec\nd\te"
    assert one_line("many\nlines  of\x1b text", 12) == "many lines …"
    assert "\x1b" not in drawn("`\x1b]0;x\x07`")

from __future__ import annotations

import pytest

from orca.text.small_talk import is_small_talk


@pytest.mark.parametrize(
    "text", ["Thanks!", "谢谢", "好的，继续", "OK, go on.", "Hi", "Thank  you so much :)", "嗯嗯。"]
)
def test_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text", ["", "?", "上海", "thanks for the tea", "好的餐厅", "Go on holiday where?", "继续上次的话题"]
)
def test_not_small_talk(text: str) -> None:
    assert not is_small_talk(text)

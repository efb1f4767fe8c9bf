"""What the rules read in what users write, and what they must not read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orca.llms.extractive import extract_facts

SAID = datetime(2026, 5, 14, 9, 0, tzinfo=UTC)  # a Thursday


def contents(text: str) -> list[str]:
    return [candidate.content for candidate in extract_facts(text, said_at=SAID)]


POSITIVE_ZH = [
    # text, content, kind, slot, value
    ("我搬家了，从北京搬到了上海", "用户从北京搬到了上海", "fact", "home", "上海"),
    ("今天好累。我在阿里做后端工程师", "用户在阿里做后端工程师", "fact", "employer", "阿里"),
    ("我叫李明", "用户叫李明", "fact", "name", "李明"),
    ("你好，我叫王小红。", "用户叫王小红", "fact", "name", "王小红"),
    ("我的名字是张伟", "用户的名字是张伟", "fact", "name", "张伟"),
    ("以后叫我老王就行", "以后叫用户老王就行", "preference", "called", "老王"),
    ("我住在杭州", "用户住在杭州", "fact", "home", "杭州"),
    ("我现在住在上海浦东新区。", "用户现在住在上海浦东新区", "fact", "home", "上海浦东新区"),
    ("我搬到深圳了", "用户搬到深圳了", "fact", "home", "深圳"),
    ("我不再住在北京了", "用户不再住在北京了", "fact", "home", "北京"),
    ("我来自四川", "用户来自四川", "fact", "origin", "四川"),
    ("我是湖南人", "用户是湖南人", "fact", "origin", "湖南"),
    ("我老家在西安", "用户老家在西安", "fact", "origin", "西安"),
    ("我在腾讯工作", "用户在腾讯工作", "fact", "employer", "腾讯"),
    ("我在北京工作", "用户在北京工作", "fact", "work city", "北京"),
    ("我刚加入了字节跳动", "用户刚加入了字节跳动", "fact", "employer", "字节跳动"),
    ("我跳槽到阿里了", "用户跳槽到阿里了", "fact", "employer", "阿里"),
    ("我不在百度工作了", "用户不在百度工作了", "fact", "employer", "百度"),
    ("我是一名后端工程师", "用户是一名后端工程师", "fact", "role", "后端工程师"),
    ("我今年32岁", "用户今年（2026）32岁", "fact", "age", "32"),
    ("我喜欢爬山", "用户喜欢爬山", "preference", "taste:爬山", "like"),
    ("我不喜欢香菜", "用户不喜欢香菜", "preference", "taste:香菜", "dislike"),
    ("我特别讨厌开会", "用户特别讨厌开会", "preference", "taste:开会", "dislike"),
    ("我最喜欢的颜色是蓝色", "用户最喜欢的颜色是蓝色", "preference", "favourite:颜色", "蓝色"),
    ("我对爵士乐很感兴趣", "用户对爵士乐很感兴趣", "preference", "taste:爵士乐", "like"),
    ("我只吃素", "用户只吃素", "preference", "diet", "吃素"),
    ("我是素食主义者", "用户是素食主义者", "preference", "diet", "素食主义者"),
    ("我不吃牛肉", "用户不吃牛肉", "preference", "consumes:牛肉", "no"),
    ("我对花生过敏", "用户对花生过敏", "fact", "allergy:花生", "花生"),
    ("我对青霉素严重过敏！", "用户对青霉素严重过敏", "fact", "allergy:青霉素", "青霉素"),
    ("我养了一只猫", "用户养了一只猫", "fact", None, "一只猫"),
    ("我有两个女儿", "用户有两个女儿", "fact", None, "两个女儿"),
    ("我的猫叫团团", "用户的猫叫团团", "fact", "name:猫", "团团"),
    ("我爱人在北京工作", "用户爱人在北京工作", "fact", "employer:爱人", "北京"),
    ("我妹妹喜欢吃辣", "用户妹妹喜欢吃辣", "fact", "taste:妹妹:辣", "like"),
    ("我老婆在医院工作", "用户老婆在医院工作", "fact", "employer:老婆", "医院"),
    ("我儿子今年5岁", "用户儿子今年（2026）5岁", "fact", "age:儿子", "5"),
    ("我的生日是3月8日", None, "fact", "birthday", None),
    ("我的邮箱是 li@example.com", "用户的邮箱是li@example.com", "fact", "contact:邮箱", "li@example.com"),
    ("我的生日不是5月3号，是5月8号", None, "fact", "birthday", None),
    ("我们决定用 PostgreSQL", "用户这边决定用 PostgreSQL", "decision", None, "用 postgresql"),
    ("决定用 Rust 重写了", "决定用 Rust 重写了", "decision", None, "用 rust 重写"),
    ("我们把数据库改成了 PostgreSQL", "用户这边把数据库改成了 PostgreSQL", "decision", "decision:数据库", "postgresql"),
    ("我们后端改用 Go 了", "用户这边后端改用 Go 了", "decision", "decision:后端", "go"),
    ("项目的截止日期是6月30日", None, "fact", "deadline:项目", None),
    ("报告的deadline是下周三", "报告的deadline是下周三（2026-05-20）", "fact", "deadline:报告", "下周三（2026-05-20）"),
    ("截止时间改到5月28日了", None, "fact", "deadline:*", None),
    ("我下周三前要交论文", "用户下周三（2026-05-20）前要交论文", "fact", "deadline:交论文", "下周三（2026-05-20）"),
    ("评审会改到周五下午三点", "评审会改到周五（2026-05-15）下午三点", "fact", "date:review", "周五（2026-05-15）下午三点"),
    ("我下周去上海出差", "用户下周（2026-05-18/2026-05-24）去上海出差", "fact", None, None),
    ("我正在开发一个记账小程序", "用户正在开发一个记账小程序", "project", None, "记账小程序"),
    ("我们的项目叫 Orca", "用户这边的项目叫 Orca", "project", "name:项目", "orca"),
    ("请用中文回复我", "请用中文回复用户", "preference", "reply language", "中文"),
    ("以后不要用表格", "以后不要用表格", "preference", None, "用表格"),
    ("请记住我对虾过敏", "用户对虾过敏", "fact", "allergy:虾", "虾"),
    ("记住：周报每周五发给王总", None, "fact", None, None),
    ("请记得我的猫叫团团", "用户的猫叫团团", "fact", "name:猫", "团团"),
    ("别忘了我们的服务器端口是 8080", "用户这边的服务器端口是 8080", "fact", None, None),
    ("我住在北京，你知道哪里有好吃的吗？", "用户住在北京", "fact", "home", "北京"),
    ("更正一下，我住在苏州", "用户住在苏州", "fact", "home", "苏州"),
    ("我戒烟了", "用户戒烟了", "preference", "consumes:烟", "no"),
]  # fmt: skip

POSITIVE_EN = [
    ("I have been vegetarian since 2019.", "The user is vegetarian.", "preference", "diet", "vegetarian"),
    ("I've been living in Tokyo for 3 years", "The user lives in Tokyo.", "fact", "home", "tokyo"),
    ("I quit smoking", "The user has given up smoking.", "preference", "consumes:smoking", "no"),
    ("I'm studying physics at MIT", "The user studies physics at MIT.", "fact", "studies", "physics"),
    ("My name is Alice", "The user's name is Alice.", "fact", "name", "alice"),
    ("Please call me Bob.", "The user wants to be called Bob.", "preference", "called", "bob"),
    ("I live in Paris.", "The user lives in Paris.", "fact", "home", "paris"),
    ("I'm based in New York", "The user lives in New York.", "fact", "home", "new york"),
    ("I moved to Berlin last year", "The user moved to Berlin last year (2025) and lives there.", "fact", "home", "berlin"),
    ("Actually, I live in Lyon now", "The user lives in Lyon.", "fact", "home", "lyon"),
    ("I no longer live in Paris", "The user no longer lives in Paris.", "fact", "home", "paris"),
    ("I'm from Brazil", "The user is from Brazil.", "fact", "origin", "brazil"),
    ("I grew up in Texas", "The user grew up in Texas.", "fact", "grew up", "texas"),
    ("I work at Google", "The user works at Google.", "fact", "employer", "google"),
    ("I work for a small startup", "The user works at a small startup.", "fact", "employer", "a small startup"),
    ("I joined Acme Corp last week", "The user joined Acme Corp and works there.", "fact", "employer", "acme corp"),
    ("I no longer work at Google.", "The user no longer works at Google.", "fact", "employer", "google"),
    ("I'm a software engineer at Stripe", "The user is a software engineer at Stripe.", "fact", "role", "a software engineer"),
    ("I work as a nurse", "The user works as a nurse.", "fact", "role", "a nurse"),
    ("I'm 34 years old", "The user is 34 years old.", "fact", "age", "34"),
    ("I love hiking", "The user likes hiking.", "preference", "taste:hiking", "like"),
    ("I really like dark chocolate because it's bitter", "The user likes dark chocolate.", "preference", "taste:dark chocolate", "like"),
    ("I prefer tabs over spaces", "The user likes tabs over spaces.", "preference", "taste:tabs over spaces", "like"),
    ("I don't like coriander", "The user does not like coriander.", "preference", "taste:coriander", "dislike"),
    ("I hate meetings", "The user dislikes meetings.", "preference", "taste:meetings", "dislike"),
    ("I no longer like coffee", "The user does not like coffee.", "preference", "taste:coffee", "dislike"),
    ("My favorite color is green", "The user's favourite color is green.", "preference", "favourite:color", "green"),
    ("I'm vegetarian", "The user is vegetarian.", "preference", "diet", "vegetarian"),
    ("I am a strict vegan.", "The user is vegan.", "preference", "diet", "vegan"),
    ("I'm no longer vegetarian", "The user is not vegetarian.", "preference", "diet", "vegetarian"),
    ("I don't eat pork", "The user does not eat pork.", "preference", "consumes:pork", "no"),
    ("I'm allergic to peanuts", "The user is allergic to peanuts.", "fact", "allergy:peanuts", "peanuts"),
    ("I have a shellfish allergy", "The user has a shellfish allergy.", "fact", "allergy:shellfish", "shellfish"),
    ("I have two cats", "The user has two cats.", "fact", None, "two cats"),
    ("I have a dog named Rex", "The user has a dog named Rex.", "fact", None, "a dog named rex"),
    ("My sister likes sushi", "The user's sister likes sushi.", "fact", "taste:sister:sushi", "like"),
    ("My wife is a doctor", "The user's wife is a doctor.", "fact", None, "a doctor"),
    ("My daughter's name is Mia", "The user's daughter is called Mia.", "fact", "name:daughter", "mia"),
    ("My birthday is March 8", "The user's birthday is March 8.", "fact", "birthday", "march 8"),
    ("My birthday is not May 3, it's May 8", "The user's birthday is May 8.", "fact", "birthday", "may 8"),
    ("We decided to use PostgreSQL", "The user's side decided to use PostgreSQL.", "decision", None, "to use postgresql"),
    ("We switched from MySQL to PostgreSQL", None, "decision", None, "postgresql"),
    ("The deadline is next Friday", "The deadline is next Friday (2026-05-22).", "fact", "deadline:*", "next friday (2026-05-22)"),
    ("The deadline for the report is 15 October", "The deadline for the report is 15 October.", "fact", "deadline:report", "15 october"),
    ("The invoice is due on Friday", None, "fact", "deadline:invoice", None),
    ("I have to submit the paper by June 3", "The user has to submit the paper by June 3.", "fact", "deadline:submit the paper", "june 3"),
    ("The review was moved to Monday", "The date of review is now Monday.", "fact", "date:review", "monday"),
    ("I'm working on a compiler for a toy language", "The user is working on a compiler for a toy language.", "project", None, None),
    ("Our project is called Orca", "The user's project is called Orca.", "project", "name:project", "orca"),
    ("Our backend uses FastAPI", "The user's backend uses FastAPI.", "project", "stack:backend", "fastapi"),
    ("Please reply in German", "The user wants replies in German.", "preference", "reply language", "german"),
    ("From now on, keep answers short", "The user asks, from now on: keep answers short.", "preference", None, None),
    ("Remember that I'm allergic to nuts", "The user is allergic to nuts.", "fact", "allergy:nuts", "nuts"),
    ("Don't forget that the server port is 8080", "The user asked to remember: the server port is 8080.", "fact", None, None),
    ("Can you remember that my cat is called Tom?", "The user's cat is called Tom.", "fact", "name:cat", "tom"),
    ("Note that the demo starts at 9:30", "The user asked to remember: the demo starts at 9:30.", "fact", None, None),
    ("I live in Berlin, what's the weather like?", "The user lives in Berlin.", "fact", "home", "berlin"),
    ("I speak French and Dutch", "The user speaks French and Dutch.", "fact", "speaks", "french and dutch"),
]  # fmt: skip

NEGATIVE = [
    # questions
    "我住在哪里？", "我是不是对花生过敏？", "我喜欢什么颜色", "你还记得我叫什么吗？", "我住在上海，对吗？", "记得我喜欢什么吗？",
    "Do I live in Paris?", "Where do I work?", "I live in Paris, right?", "Do you remember my name?", "Am I allergic to nuts?", "Do you remember that I like tea?",
    # suppositions
    "如果我住在北京，我会骑车上班", "要是我喜欢喝酒就好了", "假设我在腾讯工作", "比如我喜欢吃辣", "也许我不喜欢咖啡",
    "If I lived in Paris, I would be happy", "Suppose I work at Google", "Imagine I'm a doctor", "What if I'm allergic to nuts", "Maybe I like jazz", "I wish I lived in Rome", "Let's say I live in Oslo",
    # quotations and reported speech
    "他说“我住在北京”", "她告诉我她喜欢猫", "小王说我喜欢加班", "“我喜欢你”用日语怎么说", "张三：我住在广州",
    'She said "I live in Paris"', "He told me he likes tea", "Alice: I love dogs", "> I work at Google", "My teacher said I like to talk", "“I hate Mondays” is a song",
    # other people
    "他喜欢喝咖啡", "妈妈让我买菜", "我朋友的朋友在谷歌工作",
    "He lives in Paris", "They work at Google", "The author likes cats", "People love pizza",
    # about this very moment, or about the conversation
    "我喜欢你的回答", "我喜欢这个方案", "我不喜欢这样写", "我爱你", "我叫了外卖", "我叫他过来", "我今天不吃晚饭了", "我想喝咖啡", "我有一个问题", "我在工作", "我是来问问题的",
    "我觉得不错", "我知道了", "我的意思是再短一点", "把这段代码改成 Python", "改一下标题", "我在努力工作", "我这几天住在酒店", "我加入了购物车",
    "I like it", "I like your answer", "I like the second one better", "I love this", "I don't like that", "I live in fear", "I work at night", "I have a question", "I have two problems", "I'd like a coffee",
    "I would love to go", "I'm a bit tired", "I'm sorry", "I'm working on this bug", "I'm going with you", "I moved to the next step", "I joined the call", "I'm from the future team", "I'm not sure", "I'm looking for a developer",
    "I have to finish this by hand", "Call me when you are ready", "I like how you explained that", "Remember when we met", "I used to like coffee", "I left the room",
    "记住密码的功能怎么实现", "记住用户的登录状态需要 cookie", "我住院了", "我住在这里", "我喜欢的颜色你猜猜", "note that this function is slow",
    "I said I live in Paris", "I almost moved to Rome", "I plan to move to Oslo next year", "我打算搬到上海", "我不是不喜欢咖啡", "context deadline exceeded at 5pm",
    # undecided
    "我们还没决定用什么数据库", "我决定不了", "We haven't decided on a database", "I can't decide", "We might switch to MySQL",
    # code, pasted and handed-over text
    "```\n我住在北京\n```", "请翻译：我喜欢吃苹果，我住在上海", "润色下面这段话：\n我在腾讯工作，我喜欢编程。", "    I live in Paris", "Translate to French: I live in London and I like tea",
    "Proofread this:\nMy name is Carl and I work at IBM.", "Fix the grammar of this sentence: I likes cats", "`I live in Paris`", "扮演一个角色：我是一名医生",
    "<recalled_memory>\n我住在北京\n</recalled_memory>", "User: I like cats\nAssistant: noted", "{\"text\": \"I live in Paris\"}", "Role-play as a pirate: I live in a ship",
    # nothing
    "", "   ", "你好", "谢谢！", "Hello!", "ok", "？？？", "123", "👍",
]  # fmt: skip

SEVERAL = [
    # what is said, everything that is read in it
    ("I moved to Berlin last May and work at a bakery called Brot.", ["The user moved to Berlin last May (2025-05) and lives there.", "The user works at a bakery called Brot."]),
    ("I have two kids and love hiking", ["The user has two kids.", "The user likes hiking."]),
    ("I want to move to Rome and work there", []),
    ("Nina is vegan and lives in Oslo", ["Nina is vegan.", "Nina lives in Oslo."]),
    ("Daniel lives in Lisbon, so he is seven hours behind me.", ["Daniel lives in Lisbon."]),
    ("Hi, I'm Anna", ["The user's name is Anna."]),
    ("I'm Sorry", []), ("I'm German", []), ("This is Max, he's so playful", []),
    ("My grandma is 91, she lives in Porto", ["The user's grandma is 91.", "The user's grandma lives in Porto."]),
    ("My brother and my cousin visited. He is allergic to cats.", []),
    ("I don't like gradients, please never suggest them.", ["The user does not like gradients."]),
    ("Please never do that again.", []), ("Let's use it.", []), ("I love the energy here", []), ("We decided to use that", []), ("我喜欢它的设计", []), ("我们决定用这个", []),
    ("I have asthma", ["The user has asthma."]), ("My doctor says I should cut down on salt", ["The user's doctor says that they should cut down on salt."]),
    ("I drink a flat white every morning at nine", ["The user drinks a flat white every morning at nine."]),
    ("I no longer read mail on weekends", ["The user no longer reads mail on weekends."]),
    ("i cant eat gluten btw", ["The user does not eat gluten."]),
    ("The budget for the kitchen is 12k", ["The budget for the kitchen is 12k."]),
    ("Remember, every small step counts!", []), ("But remember, even small things matter to all", []), ("Remember that book?", []), ("Don't forget to have fun!", []),
    ("I moved to two games, like The Legend of Zelda", []),
    ("周会改到星期二下午五点", ["周会改到星期二下午五点"]), ("Our weekly sync is on Tuesday", ["The user's side has their weekly sync on Tuesday."]),
    ("我叫林晓，在杭州做自由设计师", ["用户叫林晓", "用户在杭州做自由设计师"]),
    ("我家里有一只猫，叫豆包，对鸡肉过敏，买猫粮的时候也要注意。", ["用户家里有一只猫", "用户的猫叫豆包", "用户的猫对鸡肉过敏"]),
    ("我有一只猫，但我对猫毛过敏", ["用户有一只猫", "用户对猫毛过敏"]),
    ("预算方面，服务器每个月不要超过两百块钱。", ["预算：服务器每个月不要超过两百块钱"]),
    ("医生说我缺铁，所以我现在开始吃鱼了，但还是不吃肉。", ["医生说用户缺铁", "用户现在开始吃鱼了", "用户还是不吃肉"]),
    ("咖啡也戒了，现在早上喝岩茶。", ["用户戒了咖啡", "用户现在早上喝岩茶"]),
    ("他烟也戒了", []), ("我妹妹下周三结婚，她对莲子过敏", ["用户妹妹下周三（2026-05-20）结婚", "用户妹妹对莲子过敏"]),
    ("小李对花生过敏", ["小李对花生过敏"]), ("大家住在附近", []), ("主角住在北京", []),
    ("我有高血压", ["用户有高血压"]), ("我每周三晚上打羽毛球", ["用户每周三晚上打羽毛球"]),
    ("下个版本定在七月底", ["下个版本定在七月底"]), ("第一版的截止日期是四月二十号", ["第一版的截止日期是四月二十号"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SEVERAL)
def test_a_sentence_gives_each_of_its_facts_and_no_more(text: str, expected: list[str]) -> None:
    assert contents(text) == expected


@pytest.mark.case(25)
@pytest.mark.parametrize(
    ("before", "after", "slot"),
    [
        ("我只吃素", "我现在开始吃鱼了", "diet"),
        ("I drink a flat white every morning", "我现在早上喝岩茶", "habit:drink:morning"),
        ("Let's have our weekly call on Thursdays at 17:00", "周会改到星期二下午五点", "date:weekly meeting"),
    ],
)
def test_a_change_takes_the_slot_of_what_it_changes(before: str, after: str, slot: str) -> None:
    old, new = (extract_facts(text, said_at=SAID)[0] for text in (before, after))
    assert (old.slot, new.slot) == (slot, slot)
    assert old.value != new.value


def test_earlier_messages_tell_whom_a_pronoun_means_and_give_no_facts() -> None:
    def read(text: str, *earlier: str) -> list[str]:
        return [c.content for c in extract_facts(text, said_at=SAID, earlier=earlier)]

    assert read("她对莲子过敏", "我妹妹要结婚了") == ["用户妹妹对莲子过敏"]
    assert read("她对莲子过敏", "我妹妹要结婚了", "我妈来帮忙") == []  # either may be meant
    assert read("她对莲子过敏") == []
    assert read("She lives in Porto", "My grandma is 91 and I live in Rome") == [
        "The user's grandma lives in Porto."
    ]


@pytest.mark.parametrize(("text", "content", "kind", "slot", "value"), [*POSITIVE_ZH, *POSITIVE_EN])
def test_a_statement_becomes_a_fact(
    text: str, content: str | None, kind: str, slot: str | None, value: str | None
) -> None:
    found = extract_facts(text, said_at=SAID)
    assert len(found) == 1, [c.content for c in found]
    (candidate,) = found
    assert candidate.kind == kind
    if content is not None:
        assert candidate.content == content
    assert candidate.slot == slot
    if value is not None:
        assert candidate.value == value


@pytest.mark.case(22)
@pytest.mark.parametrize("text", NEGATIVE)
def test_nothing_is_read_into_what_was_not_stated(text: str) -> None:
    assert contents(text) == []


def test_a_long_mixed_message_gives_each_of_its_facts() -> None:
    text = (
        "我叫李明，今年30岁，住在杭州，在阿里做后端工程师，喜欢爬山和摄影，对花生过敏。\n"
        "Hi! I'm a data scientist and I work at Spotify. I love cats but I hate dogs. Can you recommend a gift?\n"
        "```\nI live in code\n```\n他说“我住在月球”，如果我搬到火星，你会怎么看？"
    )
    assert contents(text) == [
        "用户叫李明", "用户今年（2026）30岁", "用户住在杭州", "用户在阿里做后端工程师", "用户喜欢爬山和摄影", "用户对花生过敏",
        "The user is a data scientist.", "The user works at Spotify.", "The user likes cats.", "The user dislikes dogs.",
    ]  # fmt: skip


@given(st.text(max_size=300))
def test_any_text_is_read_without_fault_and_spans_lie_inside(text: str) -> None:
    for candidate in extract_facts(text, said_at=SAID):
        assert candidate.span is not None
        assert 0 <= candidate.span[0] < candidate.span[1] <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        '"' * 10_000 + "`" * 5_000,
        " " * 20_000,
        "I like the way that my brother and I " * 500,
        "我最都也就很" * 3_000,
        ". " * 9_000,
        "a.b" * 6_000,
    ],
)
@pytest.mark.timeout(20)
def test_hostile_lengths_cost_little(text: str) -> None:
    extract_facts(text, said_at=SAID)

"""The words that Chinese rules are made of, and how a rule becomes a sentence about the user."""

from __future__ import annotations

import re
from collections.abc import Callable

from orca.llms.rules.base import STATED_CONFIDENCE, Finding, Rule, event_slot, key
from orca.text.relative_dates import mentions_date
from orca.types import MemoryKind

LEAD = re.compile(
    r"^(?:(?:(?:上次|刚才|刚刚|之前)?(?:我)?(?:打错|说错|记错|写错|搞错)了|等等|等一下|哦不|啊不对|不是不是|另外说一下|跟你说个?(?:好消息|事)|虽然|嗯+|啊|哦|哎|诶|好的?|好吧|对了|其实|说实话|老实说|事实上|另外|还有|顺便说(?:一下|一句)?|顺便|补充(?:一下|一点)?|更正(?:一下)?|"
    r"不对|抱歉|不好意思|你好|您好|大家好|嗨|哈喽|说来惭愧|说起来|因为|由于|所以|而且|并且|不过|但是|但|可是|然后|那么?|自我介绍一下|介绍一下|"
    r"毕竟|反正|总之|告诉你|跟你说|和你说|提醒你?一下|友情提示|补充说明|备注|说明|hi|hello|ps|btw)[ ，,：:!！]*)+",
    re.IGNORECASE,
)
ADVERBS = (
    r"(?:现在|目前|如今|一直|一向|平时|平常|通常|日常|从小|已经|最近|真的|还是|就|都|也|又|刚刚|刚|非常|特别|十分|很|比较|最|更|挺|超级?|"
    r"尤其|主要|个人|本人|自己|是真|确实|始终|只|蛮|可|今年|后来|终于|经常|常常|偶尔|其实|个人来说|这边|又|本来就)*"
)
TAIL = r"(?:了|的|啦|呀|啊|哦|呢|哈|吧|来着|而已|喔|嘛|滴|～|~)*"
END = TAIL + r"$"
RELATIVE = (
    r"(?:老婆|媳妇|妻子|老公|丈夫|爱人|太太|先生|对象|女朋友|男朋友|女友|男友|未婚妻|未婚夫|儿子|女儿|大儿子|小儿子|大女儿|小女儿|孩子|宝宝|爸爸|妈妈|"
    r"父亲|母亲|爸妈|父母|老爸|老妈|爸|妈|哥哥|弟弟|姐姐|妹妹|哥|弟|姐|妹|爷爷|奶奶|外公|外婆|姥姥|姥爷|叔叔|阿姨|舅舅|姑姑|表哥|表弟|表姐|表妹|堂哥|堂弟|堂姐|堂妹|"
    r"侄子|侄女|外甥女|外甥|孙子|孙女|外孙|老大|老二|老三|前夫|前妻|前女友|前男友|同桌|同学|发小|导师|师兄|师姐|师弟|师妹|哥们儿?|组长|小姨|大姨|姑妈|舅妈|婶婶|伯伯|老伴|小舅子|合伙人|搭档|房东|邻居|岳父|岳母|公公|婆婆|同事|老板|领导|室友|朋友|闺蜜|猫|狗|猫咪|小猫|小狗|狗狗|宠物|兔子|仓鼠|鹦鹉|乌龟)"
)
SURNAMES = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何罗高林郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
COUNT = r"(?:[一两二三四五六七八九十\d]+)?(?:只|条|个|位|名|头|匹|对)?"
ROLE = (
    r"(?:程序员|工程师|设计师|开发者?|架构师|老师|教师|教授|讲师|医生|护士|律师|法官|警察|军人|学生|大学生|高中生|初中生|研究生|本科生|博士生?|硕士生?|博士后|"
    r"经理|总监|主管|会计|审计|作家|作者|记者|编辑|翻译|摄影师|司机|厨师|店长|老板|创业者|创始人|合伙人|科学家|研究员|分析师|咨询师|顾问|销售|客服|运营|公务员|"
    r"程序媛|码农|前端|后端|全栈|测试|运维|产品|自由职业者?|实习生|画家|歌手|演员|音乐人|教练|药剂师|建筑师|飞行员|空姐|农民|工人|电工|博主|主播|人事|HR|CEO|CTO|PM|家庭主妇|全职妈妈|全职爸爸)"
)
CITIES = (
    r"(?:北京|上海|广州|深圳|杭州|成都|武汉|南京|苏州|西安|重庆|天津|长沙|郑州|青岛|厦门|宁波|大连|沈阳|合肥|福州|济南|昆明|哈尔滨|长春|石家庄|南昌|贵阳|"
    r"太原|南宁|兰州|海口|三亚|无锡|佛山|东莞|珠海|温州|香港|澳门|台北|高雄|东京|大阪|首尔|新加坡|纽约|伦敦|巴黎|柏林|硅谷|旧金山|洛杉矶|西雅图|悉尼|墨尔本|多伦多|温哥华|"
    r"国外|国内|老家|[\u4e00-\u9fff]{2,6}[省市县区镇])"
)
NOT_A_THING = r"(?!的|你|您|他|她|它|这|那|了|过|上了|着|说|问|知道|看到|听到|一下|什么|跟你|和你|我)"
NOT_A_NAME = r"(?!你|您|他|她|它|了|过|车|外卖|人|不|滴滴|代驾|妈|爸|爷|奶|同事|朋友|老板|个|什么|啥|这|那|快递|救护|停)"
PROJECT = r"(?:项目|系统|平台|应用|软件|App|app|APP|网站|工具|框架|游戏|小程序|论文|毕设|小说|书|库|产品|服务|插件|模型|机器人|助手|编译器|数据库|引擎|课程|公众号|课题|研究|商城|后台|博客|播客|频道)"
VERB_BEFORE_OBJECT = re.compile(r"^(?:吃|喝|看|听|玩|用|去|做|打|养|写|穿|买|逛|读)(?=[\u4e00-\u9fff\w])")


_RELATIONS = {
    "爸": "爸爸", "老爸": "爸爸", "父亲": "爸爸", "妈": "妈妈", "老妈": "妈妈", "母亲": "妈妈", "哥": "哥哥", "弟": "弟弟", "姐": "姐姐", "妹": "妹妹",
    "媳妇": "老婆", "妻子": "老婆", "太太": "老婆", "丈夫": "老公", "女友": "女朋友", "男友": "男朋友",
}  # fmt: skip


def relation(noun: str) -> str:
    """Return one word for a relation that has several: whoever is 妹 in one message is 妹妹 in the next."""
    return _RELATIONS.get(noun, noun)


_CIRCUMSTANCE = re.compile(r"^[^，我你您他她它如要]{2,12}?(?:以后|之后|后|以来|的时候)(?=我(?!们))")


def normalised(clause: str) -> str:
    """Return a clause without the words that only open it ("其实，", "对了", "膝盖受伤以后")."""
    return _CIRCUMSTANCE.sub("", LEAD.sub("", clause.strip())).strip()


def about_user(text: str) -> str:
    """Return a first-person text as one about the user: 我们 → 用户这边, 我 → 用户."""
    return re.sub(r"我们|咱们|咱", "用户这边", text).replace("我", "用户")


def rule(
    pattern: str,
    kind: MemoryKind,
    *,
    slot: str | None = None,
    affirmed: bool = True,
    confidence: float = STATED_CONFIDENCE,
    accept: Callable[[re.Match[str]], bool] | None = None,
) -> Rule:
    """Return a rule whose content is the clause about the user; ``{v}`` and ``{w}`` in ``slot`` are its groups."""

    def make(match: re.Match[str]) -> Finding | None:
        if accept and not accept(match):
            return None
        groups = match.groupdict()
        value = groups.get("v")
        names = {name: relation(key(text or "")) for name, text in groups.items()}
        return Finding(
            content=about_user(match.group().strip()),
            kind=kind,
            slot=slot.format(**names) if slot else None,
            value=key(value) if value else None,
            affirmed=affirmed,
            confidence=confidence,
        )

    return Rule(re.compile(pattern, re.IGNORECASE), make)


def event_on(match: re.Match[str], *, changed: bool = False) -> Finding | None:
    """Return on which date (``v``) an event (``w``) is, ``changed`` where it was another; None without a date."""
    if not mentions_date(match["v"]):
        return None
    return Finding(
        content=about_user(match.group().strip()),
        kind="fact",
        slot=event_slot(match["w"]),
        value=key(match["v"]),
        changed=changed,
    )


def taste(pattern: str, value: str, *, prefix: str = "taste") -> Rule:
    """Return a rule for what the user likes or not: one attitude per thing, so that a change supersedes."""

    def make(match: re.Match[str]) -> Finding | None:
        thing = key(VERB_BEFORE_OBJECT.sub("", match["v"]))
        owner = relation(match.groupdict().get("who") or "")
        slot = f"{prefix}:{owner}:{thing}" if owner else f"{prefix}:{thing}"
        content = about_user(match.group().strip())
        return Finding(content=content, kind="fact" if owner else "preference", slot=slot, value=value)

    return Rule(re.compile(pattern, re.IGNORECASE), make)


ME = rf"我{ADVERBS}"
VALUE = r"(?P<v>[^，,。！？!?]{1,40}?)"

"""Facts in Chinese statements beyond the speaker's person: health, habits, other people, money, plans of work.

They are tried after the rules of ``zh``; the first that applies wins.
"""

from __future__ import annotations

import re

from orca.llms.rules.base import LOOSE_CONFIDENCE, Finding, Rule, drinking_slot, key
from orca.llms.rules.zh_words import (
    END,
    ME,
    NOT_A_THING,
    RELATIVE,
    SURNAMES,
    about_user,
    event_on,
    rule,
    taste,
)
from orca.text.relative_dates import mentions_date

_NAME = (
    r"(?P<w>(?!小孩|小狗|小猫|小区|小学|小说|小米|老人|老师|老板|老婆|老公|老家|老外|老年|阿姨|高中|高管|马上|金额|白天|方案|方便|石头|江边|向来|万一|何时|任何|任务|于是|"
    r"余额|龙虾|马路|叶子|林子|田里|雷雨|周末|周会|周一|周二|周三|周四|周五|周六|周日|夏天|秦朝|唐朝|宋朝|时候)"
    rf"(?:[小老阿][\u4e00-\u9fff]|[{SURNAMES}][\u4e00-\u9fff]{{0,1}}(?:总|姐|哥|叔|老师|经理|工|医生|律师)|[{SURNAMES}][\u4e00-\u9fff]{{1,2}}?|(?-i:[A-Z][a-z]{{1,12}})))"
)
_CONDITION = (
    r"(?:(?:轻度|中度|重度|严重的?|轻微的?|慢性|先天性|一点儿?|点儿?|些)*(?:高血压|低血压|糖尿病|高血糖|高血脂|高尿酸|痛风|哮喘|鼻炎|过敏性鼻炎|胃炎|肠胃炎|胃病|胃溃疡|心脏病|冠心病|贫血|"
    r"甲亢|甲减|抑郁症?|焦虑症?|失眠症?|多动症|ADHD|偏头痛|颈椎病|腰椎间盘突出|关节炎|湿疹|荨麻疹|近视|散光|色盲|色弱|脂肪肝|肾结石|胆结石|多囊卵巢|强迫症|乳糖不耐受?|脚气|骨质疏松|癫痫|"
    r"自闭症|洁癖|社恐|夜盲症?|干眼症?))"
)
_AILING = (
    r"(?:缺(?:铁|钙|锌|维生素\w{0,3})|(?:有点儿?|轻度|中度|重度|经常|长期|老是|总是)?(?:贫血|失眠|近视|色盲|色弱|怀孕|偏头痛|低血糖|晕车|晕船|恐高|怕黑|乳糖不耐受|胃疼|头疼|腰疼|便秘)|"
    r"(?:血压|血糖|血脂|尿酸|胆固醇)(?:有点儿?|一直|偏|比较)*(?:高|低)|(?:腰|膝盖|胃|睡眠|眼睛|心脏|颈椎|肩膀|听力|视力|身体)(?:一直|有点儿?|不太|比较)*(?:不好|不太好|差))"
)
_OFTEN = r"(?:每天|每晚|每早|每周|每个?星期|每个?月|每年|每逢|每个?周末|天天|周末|工作日|平时|平常|通常|一般)"
_PART = r"(?:早上|早晨|清晨|上午|中午|午饭后|下午|傍晚|晚上|晚饭后|睡前|起床后|下班后?|上班前|[一二三四五六七八九十两\d]{1,3}点半?(?:钟|左右)?)"
_DOING = r"(?:喝|吃|跑步|跑|游泳|健身|骑车|骑行|骑|走路|走|散步|看书|看|读|写|练|打|做|冥想|遛|弹|拉|画|听|睡|起床|起|学|爬山|爬|跳|泡|上课|开会|加班|回家|回|去|带|陪|给|坐|开车|通勤)"
_REL = rf"我(?:的|们?家的?|家里的?)?(?P<w>{RELATIVE})"
_EVENT = r"(?:结婚|订婚|生日|过生日|出生|高考|中考|考研|毕业|手术|做手术|预产期?|生孩子|退休|出院|住院|开学|入学|搬家|出国|回国|来|到|回来|去世|面试|体检|复查)"
_AMOUNT = r"(?:[\d一二两三四五六七八九十百千万亿,，.]+(?:多|来)?(?:元|块钱?|万元?|千|百|刀|美元|美金|欧元|港币|人民币|k|K|w|W)?(?:钱|左右|以内|以下|上下)?)"


def _dated(match: re.Match[str]) -> bool:
    return mentions_date(match["v"])


def _habit(match: re.Match[str]) -> Finding | None:
    said = match.group().strip()
    if re.search(r"过|完|了(?!$)", match["v"]) or re.search(r"吗|呢$", said):
        return None  # told once, not done again and again
    slot = drinking_slot(said) if match["d"] in ("喝", "泡") else None
    return Finding(content=about_user(said), kind="fact", slot=slot, value=key(match["d"] + match["v"]))


def _topic_given_up(match: re.Match[str]) -> Finding | None:
    thing = match["v"]
    if re.search(rf"[他她它你您我]|{RELATIVE}|[这那]", thing):
        return None
    return Finding(content=f"用户戒了{thing}", kind="preference", slot=f"consumes:{key(thing)}", value="no")


def _budget(match: re.Match[str]) -> Finding:
    what = (match["w"] or "").strip("的 ，,：:")
    said = re.sub(r"\s+", " ", match.group().strip())
    content = about_user(re.sub(r"^预算(?:方面|的话)?[，,：:]\s*", "预算：", said))
    return Finding(
        content=content, kind="fact", slot=f"budget:{key(what)}" if what else "budget", value=key(match["v"])
    )


def _somebody(predicate: str, *, slot: str, value: str | None = None) -> Rule:
    """Return a rule for a person whose name shows that it is one."""

    def make(match: re.Match[str]) -> Finding:
        # The relation belongs to the name: "同事李伟" and "表哥李伟" are two people.
        whose, what = key((match["k"] or "") + match["w"]), key(match["v"])
        return Finding(
            content=about_user(match.group().strip()),
            kind="fact",
            slot=f"{slot}:{whose}:{what}" if value else f"{slot}:{whose}",
            value=value or what,
            confidence=LOOSE_CONFIDENCE,
        )

    return Rule(
        re.compile(rf"(?:我(?:的)?(?P<k>{RELATIVE}))?{_NAME}(?:现在|目前|一直|也|还|刚)*{predicate}{END}"),
        make,
    )


LIFE_RULES: tuple[Rule, ...] = (
    # health
    rule(rf"{ME}(?:有|得了|患有|患|查出了?|确诊(?:了|为)?|被诊断(?:为|出|出了)?)(?P<v>{_CONDITION}){END}", "fact"),
    rule(rf"{ME}(?P<v>{_AILING}){END}", "fact"),
    rule(r"(?:医生|大夫|体检报告|体检)(?:说|建议|让|要求|告诉|提醒|显示)我(?P<v>[^，。？?]{2,30}?)" + END, "fact"),
    rule(rf"{ME}(?:在|要|得|需要)?(?:吃|服用?)(?P<v>[^，吃]{{0,10}}?(?:药|片|胶囊|胰岛素)){END}", "fact", accept=lambda match: bool(re.search(r"每天|长期|一直|在|平时", match.group()))),
    rule(rf"{_REL}(?:今年|去年|已经|刚)*(?P<v>{_AILING}|退休|怀孕|去世|出国|毕业){END}", "fact"),
    rule(rf"{_REL}(?:有|得了|患有|查出了?|确诊(?:了|为)?)(?P<v>{_CONDITION}){END}", "fact"),
    # food
    rule(rf"{ME}(?:开始|可以|能)(?:重新)?(?P<v>吃(?:鱼|肉|荤|海鲜|鸡蛋|蛋|鱼和蛋|鱼肉)){END}", "preference", slot="diet", accept=lambda match: "开始" in match.group() or "现在" in match.group()),
    Rule(re.compile(rf"(?P<v>[^，。我]{{1,8}}?)(?:也|都|已经|现在|早就)*戒(?:掉)?了{END}"), _topic_given_up),
    # habits
    Rule(re.compile(rf"我(?:现在|一直|都|也|还|基本上?|最近|自己)*{_OFTEN}(?:都|会|也|要|习惯|喜欢|必须|基本上?|[一二三四五六日天]|[一二三四五六七\d]次|{_PART})*(?P<d>{_DOING})(?P<v>[^，。？?]{{0,20}}?){END}"), _habit),
    Rule(re.compile(rf"我(?:现在)(?:都|会)?{_PART}(?:都|会|改|只|一般)*(?P<d>喝|吃|跑|练|泡)(?P<v>[^，。？?]{{1,15}}?){END}"), _habit),
    Rule(re.compile(rf"我{_PART}(?:都会|都|一般|通常|习惯|从来不|从不|不)(?P<d>{_DOING}|接|看|回)(?P<v>[^，。？?]{{1,15}}?){END}"), _habit),
    # relatives
    taste(rf"我(?:的|家的?)?(?P<who>{RELATIVE})(?:从来?|也|都|现在|一点)*(?:不|不能|不会|不敢)(?:吃|喝|碰)(?!了|早饭|午饭|晚饭|饭|这|那)(?P<v>[^，。？?]{{1,15}}?){END}", "no", prefix="consumes"),
    rule(rf"{_REL}(?P<v>[^，我]{{2,12}}?)(?:要|会|就|将|才|就要|准备|打算)*{_EVENT}[^，？?]{{0,12}}?{END}", "fact", accept=_dated),
    rule(rf"{ME}(?:家里|家)(?:还|里)?(?:有|养了?)(?P<v>[^，的没]{{1,8}}?{RELATIVE})(?:叫(?P<w>[\w·]{{1,10}}))?{END}", "fact"),
    # other people
    _somebody(r"(?:住在|搬到了?|定居在)(?P<v>(?!这|那|一起|隔壁|酒店|楼)[^，的]{2,12}?)", slot="home"),
    _somebody(r"在(?P<v>[^，的]{2,12}?)(?:工作|上班|读书|上学|上大学)", slot="employer"),
    _somebody(r"对(?P<v>[^，的我你他]{1,12}?)(?:严重|有点)*过敏", slot="allergy", value="yes"),
    _somebody(r"(?:不|不能|从不)吃(?P<v>(?!了|饭|完|下|这|那|早|午|晚)[^，]{1,10}?)", slot="consumes", value="no"),
    _somebody(r"(?:是|只)?(?P<v>吃素|素食主义者|素食者)", slot="diet"),
    _somebody(r"(?:的)?生日(?:是|在)(?P<v>[^，]{2,12}?)", slot="birthday"),
    _somebody(r"负责(?P<v>(?!的|任|这|那)[^，]{2,15}?)", slot="duty", value="yes"),
    rule(rf"{ME}负责(?P<v>(?!的|任|人|这|那)[^，]{{2,20}}?){END}", "fact", confidence=LOOSE_CONFIDENCE),
    # money
    Rule(re.compile(rf"(?:我们?的?)?(?:预算(?:方面|的话)?[，,：:]\s*)(?P<w>[^，,。]{{0,12}}?)(?:每个?月|一个月|每年|一年|总共|一共|每人|每次)?(?:最好)?(?:不要|不能|不得|别|不|最多|控制在|大概|大约|是|在)*(?:超过)?\s*(?P<v>{_AMOUNT})(?:[，,][^。]{{0,20}})?{END}"), _budget),
    Rule(re.compile(rf"(?:我们|我|这次|本次)?(?:的)?(?P<w>[^，,。我你他她]{{0,10}}?)(?:的)?预算(?:现在|一共|总共|大概|大约|每月|每个月|每人|最多|不能|不要|不|只有|有|就|是|为|在|控制在|上限|降到|涨到|加到|改成|改到|调到|超过|了|：|:)+\s*(?P<v>{_AMOUNT})(?:每个?月|一个月|每人)?{END}"), _budget),
    # work: names of projects, what was chosen, when things are
    rule(r"(?:我们?的?|这个)?(?P<w>[^，我他她你]{0,6}?(?:项目|应用|产品|公司|团队|游戏|小程序|网站|店|工作室|乐队|频道|公众号))(?:的名字|名字|名)?(?:就|也)?(?:叫做?|名叫|名为|起名叫?)\s*(?P<v>[^，什啥]{1,25}?)" + END, "project", slot="name:{w}"),
    rule(rf"(?P<w>[^，我你他她这那]{{1,8}}?)(?:我们?)(?:最后|最终|已经|还是)*(?:选了|选的是|选定了?|决定用|定了|决定选)(?P<v>[^，这那]{{2,30}}?){END}", "decision", slot="decision:{w}"),
    Rule(re.compile(rf"(?P<w>(?!把|将|请|帮|就|那就|先|时间)[^，。我你他她]{{2,15}}?)(?:的时间|时间|日期)?(?:已经|暂时|最后|也|就)*(?:定在|安排在|定于|约在|约到|排在|放在)了?(?P<v>[^，]{{2,25}}?){END}"), event_on),
    rule(r"(?:我们|我)(?:要|会|得|准备|打算|想)?(?P<v>(?:这|本|下)个?(?:周|星期|月)(?:[一二三四五六日天末])?|周末|月底|年底)(?:就|还)?(?:要|会|得|准备|打算|想)+(?:去|回|搬|开始|参加|飞|见|考|面试|休假|请假|出差)[^，？?]{0,20}?" + END, "fact"),
    rule(r"(?P<v>(?:这|本|下)个?(?:周|星期|月)(?:[一二三四五六日天末])?|周末|明天|后天|明年|月底|年底|今晚|明晚|\d{1,2}月\d{0,2}[日号底初]?)(?:早上|上午|下午|晚上)?我们?(?:就|还)?(?:要|会|得|准备|打算)(?:去|回|搬|开始|参加|飞|见|考|面试|休假|请假|出差|结婚|动手术|做手术|体检|答辩)[^，？?]{0,20}?" + END, "fact"),
    # what the user learns
    rule(rf"{ME}(?:想|打算|准备|计划|在|正在|最近在|开始|报名)*(?:学习?)(?!校|生|期|到|会|分|费|历|位|长|的|了|完|过|不|以致){NOT_A_THING}(?P<v>[^，。？?]{{1,20}}?){END}", "fact", accept=lambda match: bool(re.search(r"想|打算|准备|计划|在|开始|报名", match.group()[: match.start("v") - match.start()]))),
    rule(rf"{ME}(?:在|正在)?(?:备考|备战|准备考)(?!的|了)(?P<v>[^，。？?]{{1,15}}?){END}", "fact"),
)  # fmt: skip

_DANGLING = re.compile(
    r"^(?:它|他|她|这|那)|(?:它们?|他们?|她们?|这样|那样|这个|那个|这些|那些|这里|那里)$|(?:把|用|对|跟|和|给|让|像|到|在|用的是)(?:它|他|她|这|那)"
)


def dangles(finding: Finding) -> bool:
    """Whether a finding about the user rests on a word that only the conversation around it explains ("喜欢它")."""
    if not re.match(rf"用户(?!(?:的|家)?{RELATIVE})|决定|以后|请|每次", finding.content):
        return False
    return bool(_DANGLING.search(finding.value or finding.content))

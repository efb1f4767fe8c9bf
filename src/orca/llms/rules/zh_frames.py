"""What people say of themselves and theirs in Chinese, as a table: who, then one of many predicates.

The rules of ``zh`` and ``zh_life`` know forms with a meaning of their own; these frames stand behind them and share
one shape, so that a verb that is added works for the speaker ("我刚入职…"), for relatives ("我姐刚入职…") and, after a
word of time, without a subject ("刚入职…").
"""

from __future__ import annotations

import re

from orca.llms.rules.base import LOOSE_CONFIDENCE, Finding, Frame, Rule, key
from orca.llms.rules.zh_words import (
    END,
    NOT_A_THING,
    RELATIVE,
    SURNAMES,
    about_user,
    event_on,
    relation,
    rule,
)
from orca.text.relative_dates import mentions_date

_WHEN = (
    r"(?:现在|目前|如今|最近|刚刚?|终于|今年|去年|前年|明年|上个?(?:月|周|星期|学期)|这个?(?:月|周|学期)|下个?(?:月|周|星期|学期)|昨天|前天|前几天|今天|年[初底]|月[初底]|"
    r"[\d一二两三四五六七八九十半几]+(?:天|周|个?星期|个?月|年)前|从[^，我你他她]{1,8}(?:开始|起)|退休[前后]|毕业[前后]|婚[前后]|平时|平常|一般|通常|已经|才|又|也|都|还|正|快|就|一直|"
    r"自己|一个人|两个人|一起|真的|其实|只|太|不太|主要)"
)
_OPENS = re.compile(
    r"^(?:现在|目前|如今|最近|刚刚?|终于|今年|去年|上个?(?:月|周|星期)|昨天|前天|前几天|从[^，我你他她]{1,8}(?:开始|起)|[\d一二两三四五六七八九十半几]+个?(?:天|周|月|年)前)"
)
_NAME = rf"(?:[{SURNAMES}][\u4e00-\u9fff]{{1,2}}?|[小老阿][\u4e00-\u9fff])"
_WITH = r"(?:(?:跟|和|同)(?!你|您)[^，]{1,8}?(?:一起|合伙|一块儿?|都|三年前)?|跟着)?"
_WHO = rf"(?P<who>我们|我(?:的|们?家里?的?|家里?的?|大学|高中|初中|前)?(?P<rel>{RELATIVE})(?P<name>{_NAME})?|家里?的(?P<rel2>{RELATIVE})|我们?家?|跟我[^，的]{{1,6}}的(?P<name2>{_NAME}))"
_PLACE = r"(?!这里|那里|这儿|那儿|你|酒店|宾馆|民宿|医院|进|院|下|一起|\d+楼)(?P<v>[^，]{2,20}?)(?:这边|那边|附近)?"
_SCHOOL = r"(?:幼儿园|托儿所|小学|初中|高中|中专|大专|大学|研究生|博士|[一二三四五六]年级|初[一二三]|高[一二三]|大[一二三四]|研[一二三])"
_SHOP = r"(?:店|馆|铺|厂|公司|工作室|餐厅|民宿|酒吧|诊所|超市|花店|面馆|培训班|农场|摊)"
_BODY = (
    r"(?:耳朵|眼睛|眼神|听力|视力|腰|膝盖|胃|肠胃|心脏|血压|血糖|记性|身体|腿脚|牙|嗓子|皮肤|睡眠|颈椎|肩膀)"
)
_MONEY = r"(?:房租|租金|房贷|车贷|月供|工资|月薪|年薪|薪水|学费|生活费|物业费|停车费|保险|零花钱|退休金)"
_AMOUNT = r"(?:大概|差不多|将近|不到)?[\d一二两三四五六七八九十百千万零点.,]+(?:多)?(?:元|块钱?|万|千|k|K|w)?"
_MEASURE = r"[\d一二两三四五六七八九十百零点.]+(?:米[\d一二三四五六七八九]*|公分|厘米|cm|公斤|斤|kg|码|度|左右)?[\d一二三四五六七八九]*"
_TRADE = r"(?:做|当|干|搞|教|写|跑|卖|带|学|读|念|种|开)"
_SPORT = r"(?:跑步|游泳|攀岩|瑜伽|普拉提|健身|拳击|滑雪|滑板|骑车|骑行|徒步|登山|爬山|羽毛球|乒乓球|网球|篮球|足球|太极|跳舞|钓鱼|露营|烘焙|摄影|书法|画画|冥想|飞盘)"
_EVENT = (
    r"(?:婚礼|面试|考试|期末考|答辩|手术|体检|产检|复查|聚餐|聚会|会议|例会|评审|航班|火车|高铁|演出|演唱会|展览|培训|开学|毕业典礼|家长会|年会|签证面试|"
    r"驾考|科目[一二三四]|路演|汇报|团建|比赛|搬家|交房|疫苗|预约|门诊|预产期|生日会|讲座|直播|发布会|上线|笔试|复试|体测)"
)
_STYLE = r"(?:感叹号|问号|表情(?:包|符号)?|emoji|列表|要点|markdown|表格|敬语|您|波浪号|套话|客套话|废话|专业术语|术语|英文|中文|比喻|加粗|标题|小标题|网络用语)"

FRAMES: tuple[Frame, ...] = (
    # where somebody lives
    Frame(rf"(?:{_WITH}(?:租住|租房|租|住|落户|定居|安家|base)\s*(?:在|到)|{_WITH}(?:搬|调|迁)(?:到|去|回|来)了?)\s*{_PLACE}(?:住|生活|租房)?", slot="home"),
    Frame(r"(?:租|买|住)的?(?:房子|房|公寓|小区)(?:是|就)?在(?P<v>[^，]{2,20}?)"),
    Frame(r"老家(?:是|在)?(?P<v>(?!的)[\u4e00-\u9fff]{2,8}?)", slot="origin"),
    Frame(r"在(?P<v>[^，]{2,10}?)(?:长大|出生)(?:的)?", slot="raised"),
    # what somebody does
    Frame(rf"(?:在|去|到)了?(?P<v>(?!家|公司|外面|学|读|努力|认真|拼命|专心|等|想|看|外地)[^，]{{1,20}}?)(?:上班|工作|打工|任职|实习|创业|{_TRADE}(?!了|到|过|得|的|完)[^，]{{1,12}}?)", slot="employer"),
    Frame(r"(?:入职|加入|进|去)了?(?P<v>一?家[^，]{1,16}?(?:公司|厂|医院|银行|机构|店|所|企业|学校))", slot="employer"),
    Frame(r"(?:跳槽?|转岗?|调|换)到了?(?P<v>(?!一边|下)[^，]{2,12}?)(?:上班|工作)?", slot="employer"),
    Frame(rf"(?:合伙)?(?:开|盘|接手|经营)(?:了|着)?(?P<v>一?[家个间][^，]{{0,10}}?{_SHOP})", slot="employer"),
    Frame(r"(?P<v>(?:裸辞|辞职|离职|被裁|失业|退休|休产假|休学|待业|被优化))了?", slot="employment"),
    Frame(r"(?:是)(?P<v>(?:做|搞|教|卖|跑|学)[^，这那]{1,10}?的)", slot="role"),
    Frame(r"做(?P<v>[^，这那了完好到不]{2,10}?(?:测试|开发|运营|设计|销售|研发|维修|管理|教育|外贸|电商|产品|研究|策划|咨询|财务|审计|翻译|剪辑|装修|后端|前端|算法|质检|采购|物流|产品的?))", slot="role"),
    Frame(r"(?:都)?是(?P<v>(?:火车|出租车|公交|货车)?(?:司机|老师|医生|护士|会计|工人|农民|军人|警察|律师|程序员|工程师|公务员|厨师|设计师))", slot="role"),
    Frame(r"在(?P<v>家|老家|乡下)(?:里)?(?:全职|远程)?(?:种地|带孩子|带娃|养老|办公|上班|工作|待业|休养)", slot="work mode"),
    # school
    Frame(rf"(?:考上|考进|读|上|念)了?(?P<v>[^，了]{{0,8}}?(?:{_SCHOOL}|清华|北大|复旦|浙大|[^，]{{1,6}}(?:大学|学院)的?[^，]{{0,6}}?)[^，]{{0,6}}?)", slot="school"),
    Frame(r"在(?P<v>[^，]{2,15}?)(?:念书|读书|上学|留学|读研|读博|念大学|交换)", slot="employer"),
    Frame(r"(?P<v>[^，]{1,6}?(?:四级|六级|雅思|托福|驾照|教资|考研|考公|科目[一二三四]|CPA|法考))(?:没过|过了|没考过|考过了|通过了?|挂了)", slot="exam:{v}"),
    # body, health, age
    Frame(rf"身高(?:是|有|大概)?(?P<v>{_MEASURE})", slot="attr:身高"),
    Frame(rf"体重(?:是|有|大概)?(?P<v>{_MEASURE})", slot="attr:体重"),
    Frame(r"(?:今年)?(?P<v>[\d一二两三四五六七八九十]{1,3}岁?(?:多|出头)?)(?=了|$)", slot="age"),
    Frame(rf"(?P<v>{_BODY}(?:一直|有点儿?|不太|不大|比较|经常|老|总|最近)*(?:不好|不行|差|疼|痛|酸|高|低|好))"),
    Frame(r"(?P<v>怀孕|怀二胎|流产|骨折|确诊[^，]{2,8}|做(?:了|完)?[^，]{0,6}手术|戴(?:眼镜|助听器|牙套)|左撇子|色盲|近视)(?:[\d一二三四五六七八九十]+(?:周|个?月))?"),
    Frame(r"(?:预产期)(?:是|在)?(?P<v>[^，]{2,10}?)", slot="due date", dated=True),
    Frame(r"对(?P<v>[^，你这那]{1,12}?)(?:严重|有点|轻微|会|都)*过敏", slot="allergy:{v}"),
    # what somebody can and cannot take
    Frame(r"(?P<w>不能|不太能|不会|不太会|吃不了|喝不了|碰不得|吃不惯|喝不惯|不怎么|很少)(?:吃|喝|碰|沾)?(?P<v>辣|酒|咖啡|牛奶|海鲜|生冷|甜的|烟|奶|油腻|冰的|辣的|熬夜)", slot="can take:{v}", kind="preference", value="no"),
    Frame(r"(?:能|可以|敢)(?:吃|喝|碰|沾)(?P<v>辣|酒|咖啡|牛奶|海鲜|生冷|甜的|烟|奶|油腻|冰的|辣的)", slot="can take:{v}", kind="preference", value="yes"),
    Frame(r"乳糖不耐受?|麸质不耐受?|素食|吃素|清真", slot="diet", kind="preference"),
    # home life
    Frame(r"(?:结婚|离婚|订婚|领证|分手|复婚|分居)|(?:跟|和)[^，]{2,8}?(?:结婚|离婚|离的婚|分手|订婚|领证)|[\d一二两三四五六七八九十去今前]+(?:年|个月)前?(?:结|离)的婚"),
    Frame(r"(?:在|养|捡|领养|收养|买)(?:了|着)?(?P<v>[一两二三四五六\d]+[只条匹][^，]{1,8}?)"),
    Frame(r"(?:开|骑)(?:的是|着)?(?P<v>(?:一?[辆台])(?!车$)[^，]{2,12}?)", slot="vehicle"),
    Frame(r"(?:电脑|手机|相机|车|显卡|键盘|手表|平板)(?:是|用的是)(?P<v>[^，]{2,20}?)"),
    Frame(r"(?:叫|取名叫?|起名叫?|名字叫)(?!了|我)(?P<v>[\u4e00-\u9fff]{2,4}|[A-Z][a-z]+)", slot="name"),
    # what somebody is fond of, and does again and again
    Frame(rf"(?:迷上|爱上|沉迷)了?{NOT_A_THING}(?P<v>[^，]{{1,12}}?)", slot="taste:{v}", kind="preference", value="like"),
    Frame(rf"(?:特别|很|最|非常|超|更)?(?:喜欢|爱){NOT_A_THING}(?P<v>[^，]{{1,12}}?)", slot="taste:{v}", kind="preference", value="like"),
    Frame(rf"(?:不|没再|再也不)(?P<v>{_SPORT})了", slot="taste:{v}", kind="preference", value="stopped"),
    Frame(rf"(?:改|换成|改成|改练|改学|开始|在学|在练|坚持|迷上)了?(?P<v>{_SPORT})了?", slot="sport", kind="preference"),
    # plans with a date
    Frame(r"(?P<v>[^，]{0,10}?(?:要|会|得)?(?:去|飞|回)[^，]{1,12}?(?:出差|旅游|旅行|度假|开会|留学|进修|培训|探亲|过年)[^，]{0,6}?)", dated=True),
    Frame(r"(?P<v>[^，]{0,8}?(?:结婚|订婚|毕业|退休|高考|中考|考研|生孩子|手术|搬家|回国|出国|入学|答辩)(?:了)?)", dated=True),
    # money
    Frame(rf"(?P<w>{_MONEY})(?:现在|已经|涨到|降到|涨了|是|一个月|每个?月|一年|每年|大概|要|了)*(?P<v>{_AMOUNT})", slot="money:{w}"),
)  # fmt: skip


def _owner(match: re.Match[str]) -> str:
    """Return whose fact it is, for the slot: "" for the speaker, else relation and name."""
    groups = match.groupdict()
    nouns = (groups.get("rel") or groups.get("rel2") or "", groups.get("name") or groups.get("name2") or "")
    return relation(nouns[0]) + nouns[1]


def _of(frame: Frame) -> Rule:
    def make(match: re.Match[str]) -> Finding | None:
        said = match.group().strip()
        if frame.dated and not mentions_date(said):
            return None
        groups = {name: key(text or "") for name, text in match.groupdict().items()}
        owner = _owner(match)
        slot = None
        if frame.slot is not None and not re.search(r"(?:退休|毕业|婚)前", said):
            slot = frame.slot.format(**groups) + (f":{owner}" if owner else "")
        return Finding(
            content=about_user(re.sub(r"^家里", "我家里", said)),
            kind="fact" if owner else frame.kind,
            slot=slot,
            value=frame.value or groups.get("v") or key(said),
            affirmed=frame.affirmed,
            confidence=frame.confidence,
        )

    return Rule(re.compile(rf"{_WHO}{_WHEN}*\s*(?:{frame.predicate}){END}", re.IGNORECASE), make)


def _occasion(match: re.Match[str]) -> Finding | None:
    return event_on(match, changed=bool(re.search(r"[改推提延]", match.group())))


FRAME_RULES: tuple[Rule, ...] = (
    *map(_of, FRAMES),
    # dates of what people look forward to, with or without an owner
    Rule(re.compile(rf"(?:我们?的?)?(?P<w>{_EVENT})(?:的?时间)?(?:现在|已经)?(?:是|在|定在|改到|改在|改成|推到|推迟到|提前到|延到)了?(?P<v>[^，]{{2,15}}?){END}"), _occasion),
    # the same sums without an owner are the speaker's
    rule(rf"(?P<w>{_MONEY})(?:(?:又|刚|已经)?(?:涨|降)了[，,]\s*)?(?:现在|已经|涨到|降到|是|一个月|每个?月|一年|每年|大概|要|了)+(?P<v>{_AMOUNT}){END}", "fact", slot="money:{w}"),
    # what the speaker's team works with
    rule(r"我们(?:团队|组|公司|部门|项目)?(?:现在|一直|目前|都)*(?:用的是|用的|用|部署在|跑在)(?!这|那|你|的时候)(?P<v>[^，的]{2,20}?)" + END, "project"),
    rule(r"(?:我|我们)?(?P<v>(?:下|这|本)(?:周|个月|星期)[一二三四五六日天]?)\s*(?:要|得|是我)?\s*(?:on-?call|值班|请假|休假|出差|加班|放假|轮休)" + END, "fact"),
    rule(r"(?P<v>(?:这|下|本)?(?:周末|周[一二三四五六日]|个月|明天|后天))?(?:我)?(?:要|得)带(?:孩子|娃|我?妈|我?爸|猫|狗)[^，]{0,3}去?(?:打|看|做|上)[^，]{1,8}" + END, "fact"),
    # how to answer from now on
    rule(rf"(?:以后|请|麻烦)*(?:你)?(?:别|不要|少)(?:再)?(?:用|加|写|说|发|列)[^，]{{0,6}}?(?P<v>{_STYLE})" + END, "preference", confidence=LOOSE_CONFIDENCE),
    rule(r"(?:以后|请|麻烦|你)*(?:的)?(?:回答|回复|答案|说话|语气)(?:都|尽量|可以|要|得)*(?P<v>(?:简短|短|简洁|简单|直接|口语|详细|正式|随意|精炼|通俗)(?:一)?(?:点儿?|些))" + END, "preference", confidence=LOOSE_CONFIDENCE),
)  # fmt: skip


def left_out(clause: str) -> str | None:
    """Return "我" where a message opens with a word of time, as people do who speak of themselves ("刚入职…")."""
    return "我" if _OPENS.match(clause) and not re.search(r"[我你您他她它]", clause) else None


def fits(clause: str, who: str) -> bool:
    """Whether a clause that left out its subject says something of ``who`` in a form of the table."""
    if clause.startswith(("我", "你", "您", "他", "她", "它")):
        return False
    return any(rule.pattern.fullmatch(f"{who}{clause}") for rule in FRAME_RULES[: len(FRAMES)])

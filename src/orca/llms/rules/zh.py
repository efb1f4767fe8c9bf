"""Facts in Chinese statements. Every pattern is anchored at the speaker ("我 …") and covers a whole clause.

The order of rules matters: the first that applies wins, so special forms stand before general ones.
"""

from __future__ import annotations

import re

from orca.llms.rules.base import (
    LOOSE_CONFIDENCE,
    UNNAMED_DEADLINE,
    Finding,
    Rule,
    first_finding,
    key,
)
from orca.llms.rules.zh_frames import FRAME_RULES, fits, left_out
from orca.llms.rules.zh_life import LIFE_RULES, dangles
from orca.llms.rules.zh_words import (
    ADVERBS,
    CITIES,
    COUNT,
    END,
    ME,
    NOT_A_NAME,
    NOT_A_THING,
    PROJECT,
    RELATIVE,
    ROLE,
    TAIL,
    VALUE,
    about_user,
    event_on,
    normalised,
    rule,
    taste,
)
from orca.text.relative_dates import mentions_date

_ATTRIBUTE = (
    r"(?:生日|出生日期|邮箱|电子邮箱|邮件地址|电话|手机号?码?|微信号?|地址|收货地址|血型|星座|属相|生肖|母语|时区|专业|学校|母校|身高|体重|鞋码|尺码|爱好|职业|工作|公司|"
    r"英文名|中文名|昵称|网名|车牌号?|预算|目标|梦想|偶像|编辑器|电脑|手机|主力语言|常用语言|操作系统|部门|工位|座右铭|年龄|国籍|籍贯|家乡|老家|网站|博客|用户名|账号|航班|车次|房间号|体检时间|面试时间)"
)
_ATTRIBUTE_SLOTS = {
    "生日": "birthday", "出生日期": "birthday", "职业": "role", "工作": "role", "公司": "employer", "老家": "origin", "家乡": "origin",
    "籍贯": "origin", "母语": "native language", "时区": "timezone", "邮箱": "contact:邮箱", "电子邮箱": "contact:邮箱",
    "电话": "contact:电话", "手机号": "contact:电话", "手机号码": "contact:电话", "微信": "contact:微信", "微信号": "contact:微信", "年龄": "age",
}  # fmt: skip


def _attribute(match: re.Match[str]) -> Finding:
    name = match["w"]
    slot = _ATTRIBUTE_SLOTS.get(name, f"attr:{key(name)}")
    return Finding(
        content=f"用户的{name}是{match['v'].strip()}", kind="fact", slot=slot, value=key(match["v"])
    )


def _favourite(match: re.Match[str]) -> Finding:
    return Finding(
        content=about_user(match.group().strip()),
        kind="preference",
        slot=f"favourite:{key(match['w'])}",
        value=key(match["v"]),
    )


_CHANGED = re.compile(r"改到|改成|改为|推迟|提前|延到|延期|延后|挪到")
_NO_SUBJECT = re.compile(
    r"^(?:所以|那么?|就|然后|现在|新的?|项目组?说|把|将|我们?的?|咱们的?|这个|那个|最终|最后)*$"
)


def _deadline(match: re.Match[str]) -> Finding | None:
    if not mentions_date(match["v"]):
        return None
    what = "" if _NO_SUBJECT.match(match["w"]) else re.sub(r"^(?:我们?的?|咱们的?)", "", key(match["w"]))
    return Finding(
        content=about_user(match.group().strip()),
        kind="fact",
        slot=f"deadline:{what}" if what else UNNAMED_DEADLINE,
        value=key(match["v"]),
        changed=bool(_CHANGED.search(match.group())),
    )


def _moved(match: re.Match[str]) -> Finding | None:
    return event_on(match, changed=True)


def _dated(match: re.Match[str]) -> bool:
    return mentions_date(match["v"])


_TEMPORARY = re.compile(
    r"^(?:院|宿|校|进|下|满|过|得|不)|这里|那里|这儿|那儿|这边|你|酒店|宾馆|民宿|医院|旅馆|青旅|朋友家|帐篷|几楼|\d+楼|隔壁|附近"
)
_GENERIC_WORK = re.compile(
    r"^(?:公司|单位|努力|认真|拼命|专心|外面|外地|这里|那里|这儿|那儿|.*的时候|.*下|晚上|早上|周末|白天)$"
)


def _is_place(match: re.Match[str]) -> bool:
    return not _TEMPORARY.search(match["v"])


def _is_employer(match: re.Match[str]) -> bool:
    return not _GENERIC_WORK.match(match["v"]) and match["v"] != "家"


PERSON_RULES: tuple[Rule, ...] = (
    # name
    rule(rf"(?:我的)?(?:名字|姓名|全名|真名)(?:叫|是|[:：])做?\s*(?P<v>[\w·]{{1,20}}?){END}", "fact", slot="name"),
    rule(rf"{ME}(?:名叫|叫做?)\s*{NOT_A_NAME}(?P<v>[\u4e00-\u9fff·]{{2,5}}?|[A-Za-z][\w·]{{1,19}}){END}", "fact", slot="name"),
    rule(rf"我姓(?P<v>[\u4e00-\u9fff]{{1,2}}){END}", "fact", slot="surname"),
    rule(rf"(?:以后|今后)?(?:请|你?可以|就)?(?:都|就)?叫我{NOT_A_NAME}(?P<v>[\w·]{{1,12}}?)(?:就好|就行|就可以|即可|好)?{END}", "preference", slot="called"),
    # home and origin
    rule(rf"{ME}(?:不再|不)住在?(?P<v>[^，]{{2,20}}?){END}", "fact", slot="home", affirmed=False, accept=_is_place),
    rule(rf"{ME}(?:(?:上|这)个?(?:周末?|星期|月)|昨天|前天|前几天|今天|去年|[年月]初)?(?:从(?P<w>[^，]{{1,15}}?))?(?:搬家?到|搬去|搬来|搬回|定居到|移居到?|迁居到?)了?(?P<v>[^，]{{2,20}}?)(?:住|定居|生活|工作)?{END}", "fact", slot="home", accept=_is_place),
    rule(rf"(?:{ME}|我的?)(?:长期|暂时)?(?:住在|定居在|居住在|生活在|家在|家住|住)(?P<v>[^，]{{2,20}}?){END}", "fact", slot="home", accept=_is_place),
    rule(rf"{ME}(?:来自|出生在|出生于|生于|老家在|老家是|家乡是|家乡在|籍贯是)(?P<v>[^，]{{2,20}}?){END}", "fact", slot="origin"),
    rule(rf"{ME}是(?P<v>(?!本|负责|好|坏|男|女|成年|普通|年轻|老|新|客|病|工|主|中间|外|局|素食|当事|单身|明白|过来|申请|联系|发起|创始|合伙|法|个|一个)[\u4e00-\u9fff]{{2,6}})人{END}", "fact", slot="origin"),
    # work
    rule(rf"{ME}(?:不再|不)在(?P<v>[^，]{{1,20}}?)(?:工作|上班|任职|干){END}", "fact", slot="employer", affirmed=False),
    rule(rf"{ME}从(?P<v>[^，到]{{2,15}}?)(?:离职|辞职|退休|跳槽|毕业){END}", "fact", slot="left:{v}"),
    rule(rf"{ME}(?:离职|辞职|退休|失业|毕业){END}", "fact", slot="employment"),
    rule(rf"{ME}(?:从(?P<w>[^，到]{{2,15}}?))?(?:跳槽到|跳槽去|入职|加入|转到|换到|调到)了?(?!.*(?:群|会议|购物车|列表|讨论|收藏|会员|对话))(?P<v>[^，]{{1,20}}?)(?:工作|上班)?{END}", "fact", slot="employer"),
    rule(rf"{ME}在(?P<w>{CITIES})(?:做|当|干)(?:一名|一个|一位|个)?(?P<v>[^，]{{0,10}}?{ROLE}){END}", "fact", slot="role"),
    rule(rf"{ME}在(?P<v>{CITIES})(?:工作|上班|打工|读书|上学|上大学|留学){END}", "fact", slot="work city"),
    rule(rf"{ME}在(?P<v>家)(?:办公|工作|上班){END}", "fact", slot="work mode"),
    rule(rf"{ME}在(?P<v>[^，]{{1,20}}?)(?:工作|上班|任职|就职|实习|当[^，]{{2,10}}|做[^，]{{0,8}}{ROLE}){END}", "fact", slot="employer", accept=_is_employer),
    rule(rf"{ME}在(?P<v>[^，]{{2,15}}?(?:大学|学院|中学|小学|高中))(?:读书|上学|读[^，]{{1,12}}|念[^，]{{1,12}}|学[^，]{{1,12}}){END}", "fact", slot="school"),
    rule(rf"{ME}(?:不是|不再是)(?:一名|一个|一位|个)?(?P<v>[^，的]{{0,8}}{ROLE}){END}", "fact", slot="role", affirmed=False),
    rule(rf"{ME}(?:是|做|当|担任|从事)(?:一名|一个|一位|一家|个|名)?(?P<v>[^，]{{0,14}}?{ROLE}){END}", "fact", slot="role"),
    rule(rf"{ME}(?:是|在)?(?:做|搞|从事|学)(?P<v>[^，这那个]{{2,10}}?)(?:工作的?|行业的?|专业的?|的|开发的?|方向的?){TAIL}$", "fact", slot="role", confidence=LOOSE_CONFIDENCE),
    rule(rf"{ME}(?:今年|已经)*(?P<v>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})岁{END}", "fact", slot="age"),
    rule(rf"{ME}(?:今年)?(?P<v>单身|已婚|未婚|结婚|离婚|订婚|怀孕|退休){END}", "fact", slot="marital status"),
    # diet
    rule(rf"{ME}(?:不再|不)是(?P<v>(?:纯?素食(?:主义)?者?)){END}", "preference", slot="diet", affirmed=False),
    rule(rf"{ME}(?:不再|不)(?P<v>吃素){END}", "preference", slot="diet", affirmed=False),
    rule(rf"{ME}(?:开始)?(?:只|是|全)*(?P<v>吃素|纯?素食(?:主义)?者?|吃全?素|吃清真|吃荤|生酮饮食|低碳饮食|吃肉){END}", "preference", slot="diet"),
    rule(rf"我{ADVERBS}对(?P<v>[^，]{{1,20}}?)(?:严重|有点|轻微|会|都)*过敏{END}", "fact", slot="allergy:{v}"),
    rule(rf"我{ADVERBS}对(?P<v>[^，]{{1,20}}?)(?:并?不|没有?|不再)过敏{END}", "fact", slot="allergy:{v}", affirmed=False),
    rule(rf"{ME}有(?P<v>[^，没]{{1,10}}?)(?:过敏症?|不耐受症?){END}", "fact", slot="allergy:{v}"),
    taste(rf"{ME}(?:从来?|都)*(?:不|不能|不会|没法|再也不|戒)(?:吃|喝|抽|碰)了?(?!了|早饭|午饭|晚饭|饭|这|那|完|下|到|惯|药){VALUE}{END}", "no", prefix="consumes"),
    taste(rf"{ME}戒(?:了|掉)?(?!不){VALUE}{END}", "no", prefix="consumes"),
    rule(rf"{ME}(?:只)(?:吃|喝)(?!了|过|完)(?P<v>[^，]{{1,15}}?){END}", "preference", slot="diet"),
    # favourites, likes and dislikes
    Rule(re.compile(rf"我最(?:喜欢|爱)的(?P<w>[^，是]{{1,12}})(?:就|还|一直)?(?:是|[:：])(?P<v>[^，]{{1,30}}?){END}"), _favourite),
    taste(rf"{ME}(?:并?不(?:太|怎么|是很|大|再|那么|是特别)?(?:喜欢|爱|爱好)|讨厌|厌恶|受不了|反感|恨|不感冒|没兴趣){NOT_A_THING}{VALUE}{END}", "dislike"),
    taste(rf"{ME}(?:对)(?P<v>[^，你这那]{{1,15}}?)(?:不感兴趣|没(?:有)?兴趣|不感冒){END}", "dislike"),
    taste(rf"{ME}对(?P<v>[^，你这那]{{1,15}}?)(?:很|非常|特别|比较|挺)?(?:感兴趣|有兴趣|着迷){END}", "like"),
    taste(rf"{ME}(?:喜欢|喜爱|爱好是?|热爱|偏爱|偏好|钟爱|迷上了?|爱上了?|倾向于?|习惯|爱(?!人)|prefer|like|love)(?:用)?\s*{NOT_A_THING}(?!好){VALUE}{END}", "like"),
    rule(rf"{ME}(?:习惯)?(?:用|使用)的?(?:是)(?P<v>[^，]{{1,25}}?){END}", "preference", confidence=LOOSE_CONFIDENCE),
    # family and pets
    taste(rf"我的?(?:的)?(?P<who>{RELATIVE})(?:也|很|最|特别|非常|都)*(?:不(?:太)?(?:喜欢|爱吃|爱)|讨厌){NOT_A_THING}{VALUE}{END}", "dislike"),
    taste(rf"我的?(?P<who>{RELATIVE})(?:也|很|最|特别|非常|都)*(?:喜欢|爱吃|爱|热爱){NOT_A_THING}{VALUE}{END}", "like"),
    rule(rf"我(?:的|们?家的?)?(?P<w>{RELATIVE})的?(?:名字)?(?:叫做?|名叫|名字是)\s*(?P<v>[\w·“”\"「」]{{1,14}}?){END}", "fact", slot="name:{w}"),
    rule(rf"我(?:的|家)?(?P<w>{RELATIVE})(?:现在)?(?:对(?P<v>[^，]{{1,20}}?)过敏){END}", "fact", slot="allergy:{w}:{v}"),
    rule(rf"我(?:的|家)?(?P<w>{RELATIVE})(?:现在|目前|一直)?(?:住在|搬到了?)(?P<v>[^，]{{2,20}}?){END}", "fact", slot="home:{w}"),
    rule(rf"我(?:的|家)?(?P<w>{RELATIVE})(?:现在|目前)?在(?P<v>[^，]{{2,20}}?)(?:工作|上班|上学|读书|上大学){END}", "fact", slot="employer:{w}"),
    rule(rf"我(?:的|家)?(?P<w>{RELATIVE})(?:的)?生日(?:是|在)(?P<v>[^，]{{2,20}}?){END}", "fact", slot="birthday:{w}"),
    rule(rf"我(?:的|家)?(?P<w>{RELATIVE})(?:今年|已经|快)*(?P<v>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})岁{END}", "fact", slot="age:{w}"),
    rule(rf"我(?:的|家)?(?P<w>{RELATIVE})是(?:一名|一个|一位|个)?(?P<v>[^，]{{0,10}}?{ROLE}){END}", "fact", slot="role:{w}"),
    rule(rf"(?:我|我家){ADVERBS}(?:有|养了?)(?!没)(?P<v>{COUNT}[^，的]{{0,6}}?{RELATIVE})(?:叫(?P<w>[\w·]{{1,10}}))?{END}", "fact"),
    # attributes with a name
    Rule(re.compile(rf"我的?(?P<w>{_ATTRIBUTE})(?:不是|并不是)[^，]{{1,25}}[，,]?\s*(?:而?是)(?P<v>[^，]{{1,30}}?){END}"), _attribute),
    Rule(re.compile(rf"我的?(?P<w>{_ATTRIBUTE})(?:现在)?(?:就?是|为|[:：]|改成了?|换成了?|改为了?|换为了?|变成了?|在)\s*(?P<v>(?!什么|多少|不是)[^，]{{1,40}}?){END}"), _attribute),
)  # fmt: skip

PLAN_RULES: tuple[Rule, ...] = (
    # decisions
    rule(rf"(?:(?:我们|咱们|我|团队|大家)(?:最后|最终|已经|还是|刚刚|刚|今天|一致|后来|昨天|开会)*)?(?:决定|敲定|选定|商定)(?!不了|不下|权|论|性|因素|书|吗)(?:了|好|要|是)?{VALUE}{END}", "decision"),
    rule(rf"(?:我们|咱们|我|团队)(?:最后|最终|已经|还是|今天)*(?:把|将)(?P<w>[^，]{{1,20}}?)(?:改成|换成|改为|换为|改用|切换到|切换成|迁移到|升级到)(?:了)(?P<v>[^，]{{1,30}}?){END}", "decision", slot="decision:{w}"),
    rule(rf"(?:我们|咱们|我|团队)(?P<w>[^，把将]{{0,12}}?)(?:最后|最终|已经|都|全部|现在)*(?:改用|换用|切换到|切到|迁移到|换成|改成)(?:了)?{NOT_A_THING}(?P<v>[^，]{{1,30}}?){END}", "decision", slot="decision:{w}"),
    rule(rf"(?:我们|咱们|团队)(?:最后|最终|已经|还是)*(?:选择了|选了|采用了?|不用了?|放弃了?|弃用了?)(?!这|那){VALUE}{END}", "decision"),
    # deadlines and dates
    Rule(re.compile(rf"(?P<w>[^，。]{{0,18}}?)的?(?:截止日期|截止时间|截止日|截止|死线|deadline|ddl|交付日期|交付时间|上线时间|上线日期|发布日期|发布时间|到期日|到期时间)(?:已经|现在|又)?(?:是|为|在|到|定在|改到了?|改成了?|改为|推迟到了?|提前到了?|延到了?|[:：]|\s)*(?P<v>[^，]{{2,25}}?){END}", re.IGNORECASE), _deadline),
    rule(rf"(?P<w>(?!把|将)[^，。我你他]{{2,15}}?)(?P<v>[\d一二三四五六七八九十下本周月年末底日号今明后天点:：]{{2,14}})(?:之前)?(?:截止|到期){END}", "fact", slot="deadline:{w}", accept=_dated),
    Rule(re.compile(rf"(?P<w>(?!把|将|请|帮)[^，。你]{{2,15}}?)(?:时间)?(?:已经|又)?(?:改到|推迟到|提前到|延期到|延到|挪到|改成|改为|改在)了?(?P<v>[^，]{{2,25}}?){END}", re.IGNORECASE), _moved),
    rule(rf"(?:我们|我){ADVERBS}(?:要|必须|得|需要|应该)?(?:在)?(?P<v>[^，我]{{2,14}}?)(?:之前|以前|前)(?:要|必须|得|需要|一定要|应该)?(?P<w>(?:交|完成|提交|上线|发布|交付|搞定|写完|做完|递交|还|付|答辩)[^，]{{0,20}}?){END}", "fact", slot="deadline:{w}", accept=_dated),
    rule(rf"(?:我们|我){ADVERBS}(?:打算|计划|准备|会|要|想)?(?P<v>(?:大后天|后天|明天|明早|明晚|今晚|下+个?(?:周|星期|月)[一二三四五六日天末]?|本?周[一二三四五六日末]|明年|年底|月底|\d{{1,2}}月(?:\d{{1,2}}[日号]|底|初)?|\d{{1,2}}[日号]))(?:早上|上午|中午|下午|晚上|[\d:：点半]+)*(?:打算|计划|准备|会|要|就|又|还)*(?:去|到|飞|回|来|出差|参加|搬|开始|考|面试|结婚|出国|旅行|旅游|入职|离职|手术|开会|有|跟|和|带|过|坐|交|做|出发|答辩|毕业|请假|休假|体检)[^，]{{0,25}}?{END}", "fact"),
    # projects
    rule(rf"(?:我们|我)的?(?P<w>[^，]{{0,8}}?项目)(?:现在)?的?(?:名字)?(?:叫做?|名叫|名称是|名字是|代号是?)\s*(?P<v>[^，]{{1,25}}?){END}", "project", slot="name:{w}"),
    rule(rf"(?:我们|我)的?(?P<w>[^，]{{0,12}}?(?:项目|系统|网站|后端|前端|数据库|服务|公司|团队))(?:现在|目前|主要)*(?:是)?(?:用|使用|采用|基于|跑在|部署在)(?:的是|的)?(?!户)(?P<v>[^，]{{1,30}}?)(?:写|开发|做|实现)?{END}", "project", slot="stack:{w}"),
    rule(rf"(?:我们|我){ADVERBS}(?:正在|在|最近在|准备|打算|打算要)?(?:做|开发|写|搞|负责|维护|参与|设计|重构|研发|创办)(?:着|了)?(?:一个|一款|一本|一篇|一套|的)?(?!这|那|你)(?P<v>[^，]{{0,20}}?{PROJECT}){END}", "project"),
)  # fmt: skip

_LANGUAGES = r"(?:简体|繁体)?(?:中文|英文|英语|汉语|日语|日文|法语|德语|西班牙语|韩语|粤语|普通话)"
STANDING_RULES: tuple[Rule, ...] = (
    rule(rf"(?:(?:以后|今后|从现在起|接下来)?(?:请|麻烦)?(?:你)?(?:一直|始终|都|总是|尽量)?)(?:用|说|讲)(?P<v>{_LANGUAGES})(?:来)?(?:回答|回复|交流|沟通|对话|聊天|说话|跟我(?:说|聊|交流|沟通)|和我(?:说|聊|交流|沟通))(?:我|我的问题)?(?:就好|就行|即可)?{END}", "preference", slot="reply language"),
    rule(rf"(?:以后|今后|从现在起|从今以后|往后)(?:回答[^，]{{0,8}}?|回复[^，]{{0,6}}?|写[^，]{{0,8}}?|推荐[^，]{{0,8}}?)?(?:请|你|麻烦|就|都)*(?:不要|别|都|一律|每次|总是|请|给我|要|用|只|尽量|先)(?P<v>[^，]{{2,40}}?){END}", "preference"),
    rule(rf"(?:请|麻烦)?(?:你)?(?:每次|永远|总是|一律)(?:都)?(?:要|不要|别|请|用|先|给我)?(?P<v>[^，]{{2,40}}?){END}", "preference", confidence=LOOSE_CONFIDENCE, accept=lambda match: match.group().startswith(("请", "麻烦", "你"))),
)  # fmt: skip

EXPLICIT = re.compile(
    r"^(?:请|麻烦|拜托|帮忙?|帮我|给我|你要?|您|务必|一定要?|千万|要|也|还有|能不能|可以|能|可不可以|顺便|劳烦|所以|那)*"
    r"(?:记住|记得|记一下|记下来|记下|记好|牢记|记着|别忘了?|不要忘了?|不要忘记|别忘记|备忘|备注一下|记到?备忘录里?)(?:一下|了|哦|啊|的是)?"
    r"(?:[,，:：\s]+)?(?P<v>.+)$"
)
_NOT_TO_REMEMBER = re.compile(
    r"^(?:吗|么|没|我们?(?:上次|之前|昨天|说过|聊过|问过|是谁)|上次|之前|不记得|用户|密码|登录|单词|状态|.*(?:怎么|如何|为什么|什么|哪)|[\W_]*$)"
)
_SUBJECTLESS = re.compile(
    r"^(?:现在)?(?:每天|每晚|每周|周末|早上|晚上|睡前|中午)|^(?:开始|还?是?不吃|缺[铁钙]|负责)|^(?:(?:现在|目前|最近|刚刚?|平时|一直|从来|也|还|都|最|特别|非常|很|更|比较|只|不太|不怎么|以前)*)(?:喜欢|讨厌|不喜欢|热爱|偏爱|住在|搬到|不吃|不喝|吃素|只吃|只喝|"
    r"对[^，]{1,15}过敏|来自|老家|在[^，]{2,15}(?:工作|上班|做[^，]{0,8}"
    + ROLE
    + r")|(?:从[^，]{1,10})?(?:搬到|搬去|跳槽到)|在学|学[^，]{2,8}的|是[^，]{0,8}"
    + ROLE
    + r"|养了|有[一两三]|下周|明天|后天|下个?月|今年\d+岁|做[^，]{2,8}的|名叫|叫[\u4e00-\u9fff]{2,4}$|决定|打算)"
)


_RULES = (*PERSON_RULES, *PLAN_RULES, *STANDING_RULES, *LIFE_RULES, *FRAME_RULES)
_OF_ANIMALS = re.compile(
    r"^(?:名字)?(?:叫|名叫)[\w「『“]|^(?:今年|已经)*[\d一二三四五六七八九十]+岁|^对(?!.*毛)[^，]{1,15}过敏"
)
_OF_PEOPLE = re.compile(
    r"^(?:特别|很|最|非常|都|也|比较)*(?:不喜欢|喜欢|讨厌)|^(?:名叫|叫)[\w「『“]|^(?:现在|目前|今年|也|还)*(?:[\d一二三四五六七八九十]+岁|对[^，]{1,15}过敏|住在|在[^，]{2,12}(?:工作|上班|上学|读书|上大学)|是[^，]{0,8}"
    + ROLE
    + r"|不吃|喜欢|讨厌)"
)
_HAS_ANIMAL = re.compile(
    rf"我{ADVERBS}(?:家里?|家里还)?(?:有|养了?)(?:[一1])?[只条个](?P<w>[^，的]{{0,4}}?{RELATIVE})$"
)


def find_statements(clause: str, *, subject: str | None) -> list[Finding]:
    """Return what a clause states; ``subject`` is what the clause before left as its subject ("我", "我的猫")."""
    text = normalised(clause)
    if subject == "我":
        if _SUBJECTLESS.match(text) or fits(text, subject):
            text = f"我{text}"
    elif subject is not None and (
        (_OF_ANIMALS if _is_animal(subject) else _OF_PEOPLE).match(text)
        or (not _is_animal(subject) and fits(text, subject))
    ):
        text = f"{subject}{text}"
    elif subject is not None and _is_animal(subject) and _SUBJECTLESS.match(text):
        text = f"我{text}"
    finding = first_finding(_RULES, text)
    return [finding] if finding is not None and not dangles(finding) else []


def assumed_subject(clause: str) -> str | None:
    """Return the subject that the first clause of a message left out, as far as its form shows it."""
    return left_out(normalised(clause))


def subject_of(clause: str) -> str | None:
    """Return the subject that the next clause may leave out: the speaker, one of theirs, or None."""
    text = normalised(clause)
    if animal := _HAS_ANIMAL.match(text):
        return f"我的{animal['w']}"
    if relative := re.match(rf"我(?:的|们?家的?|大学|高中)?(?P<w>{RELATIVE})", text):
        return f"我{relative['w']}"
    if _GIVEN_UP.fullmatch(text) or left_out(text):
        return "我"
    return "我" if re.match(r"我(?!们|的|家的)", text) else None


_GIVEN_UP = re.compile(r"[^我你他她它]{1,8}戒(?:掉)?了")


def _is_animal(subject: str) -> bool:
    return bool(re.search(r"(?:猫|狗|猫咪|宠物|兔子|仓鼠|鹦鹉|乌龟)$", subject))


def requested(sentence: str) -> str | None:
    """Return what a sentence asks to remember, or None."""
    match = EXPLICIT.match(normalised(sentence))
    if not match:
        return None
    wish = match["v"].strip(" ，,：:。！!")
    if len(wish) < 2 or _NOT_TO_REMEMBER.match(wish) or re.search(r"(?:吗|么|没有?)[？?]*$|[?？]\s*$", wish):
        return None
    return wish


def as_request(wish: str) -> str:
    """Return the sentence under which a wish without a known form is kept."""
    return about_user(wish) if "我" in wish else f"用户要求记住：{wish}"


def as_spoken(content: str) -> str | None:
    """Return a sentence about the user as the user would say it, or None when it is about somebody else."""
    text = content.strip().rstrip("。.！!")
    if text.startswith("我"):
        return text
    return (
        f"我{text[2:]}".replace("用户", "我")
        if text.startswith("用户") and not text.startswith(("用户这边", "用户要求"))
        else None
    )

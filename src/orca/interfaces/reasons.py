"""Chinese for reasons: why a line is in a prompt or not, why something is missing or failed, what a check found.

The memory says them in English, in texts that are finished and may hold figures, names or another reason. Here each
such text is known by its template. What only a provider or the system knows, such as an error's own words, stays as it
came.
"""

from __future__ import annotations

import re
from functools import lru_cache

LEDGER = {
    "in every prompt": "每个提示词都有",
    "in the working window": "在工作窗口中",
    "older than the working window": "早于工作窗口",
    "the newest user message": "最新的用户消息",
    "no room: an older step of this turn": "空间不足：本轮较早的一步",
    "a step of this turn": "本轮的一步",
    "closes an interrupted tool call": "补上被中断的工具调用的结尾",
    "sets right what the window says": "更正窗口中的说法",
    "nothing to show": "没有可显示的内容",
    "nothing was said": "没有说话内容",
    "a tool result without its call": "工具结果缺少对应的调用",
    "below the relevance floor: {given} < {floor}": "低于相关度下限：{given} < {floor}",
    "the same text as the system prompt": "与系统提示词相同",
    "the same text as {other}": "与 {other} 文本相同",
    "what it sets right is not in the working window": "所更正的内容不在工作窗口中",
    "in the working window already": "已在工作窗口中",
    "its turn is in the working window already": "所在轮次已在工作窗口中",
    "the same text is in the working window already": "相同文本已在工作窗口中",
    "fits in room that others left": "放入其他层剩余的空间",
    "no room: {tokens} tokens, {left} left": "空间不足：需 {tokens} 个词元，只剩 {left} 个",
    "no room in the end": "最终空间不足",
    "no room: system text and newest turn alone fill the budget": "空间不足：仅系统文本和最新一轮就占满预算",
    "best match": "最佳匹配",
    "fits its tier's share": "在本层份额之内",
    "best match, in room that others left": "最佳匹配，用其他层剩余的空间",
    "omitted: too long, id {id}: {tokens} tokens, {left} left": "略去：过长，编号 {id}：需 {tokens} 个词元，只剩 {left} 个",
    "best match, cut to fit: {tokens} of {whole} tokens": "最佳匹配，截短放入：{whole} 个词元中的 {tokens} 个",
}
"""Reasons of a prompt's ledger."""

MISSING = {
    "the dense lane is turned off": "语义通道已关闭",
    "no embedding model is in use": "未使用嵌入模型",
    "embedding model is loading": "嵌入模型正在加载",
    "query embedding: {error}": "查询的嵌入：{error}",
    "query embedding: no answer within {seconds} s": "查询的嵌入：{seconds} 秒内没有回答",
    "rerank: {error}": "重排：{error}",
    "rerank: no answer within {seconds} s": "重排：{seconds} 秒内没有回答",
    "rerank: {texts} texts came back as scores of shape {shape}": "重排：{texts} 条文本得到形状为 {shape} 的分数",
    "{reason}; not asked for {seconds} s": "{reason}；{seconds} 秒内不再询问",
    "queries pause for {seconds} s: {reason}": "查询暂停 {seconds} 秒：{reason}",
    "sqlite-vec cannot be loaded ({error})": "sqlite-vec 无法加载（{error}）",
    "sqlite-vec does not work ({error})": "sqlite-vec 不能工作（{error}）",
    "sqlite-vec does not find what was stored": "sqlite-vec 找不到已存的内容",
    "the codes of {table} are wrong ({error}); every vector is scanned until {then}": "{table} 的编码有误（{error}）；在 {then} 之前逐个扫描向量",
    "this SQLite has no FTS5": "此 SQLite 没有 FTS5",
    "the keyword index of {table} is out of step: {error}": "{table} 的关键词索引不同步：{error}",
    "{reason}; the newest {rows} rows were scanned instead": "{reason}；改为扫描最新的 {rows} 行",
    "{reason}; messages are kept in {place} until it is well": "{reason}；恢复之前消息保存在 {place}",
    "MCP server {name} is down ({reason})": "MCP 服务器 {name} 不可用（{reason}）",
    "the server ended the connection": "服务器结束了连接",
    "it did not start within {seconds} seconds": "它未在 {seconds} 秒内启动",
    "{reason}; it last said: {words}": "{reason}；它最后说：{words}",
    "{folder} is a network or shared folder ({kind}), where SQLite's write-ahead log is not safe; the slower rollback"
    " journal is used, and one machine should write at a time": "{folder} 是网络或共享文件夹（{kind}），SQLite 的预写日志在此不安全；"
    "改用较慢的回滚日志，同一时间只应有一台机器写入",
}
"""What is missing at the moment, and why."""

FAILURES = {
    "waiting": "等待中",
    "its text changed while it was embedded": "嵌入期间文本已更改",
    "interrupted by closing": "因关闭而中断",
    "summary by rule: {reason}": "已按规则生成摘要：{reason}",
    "{url} asks to slow down (429): {said}": "{url} 要求放慢（429）：{said}",
    "{url} refused the request ({status}): {said}": "{url} 拒绝了请求（{status}）：{said}",
    "{url} did not answer in time ({status})": "{url} 未按时回答（{status}）",
    "{url} did not answer in time": "{url} 未按时回答",
    "{url} cannot be reached: {reason}": "无法连接 {url}：{reason}",
    "{url} reports: {said}": "{url} 报告：{said}",
    "{url} answered with a JSON {kind}, not an object": "{url} 回答了 JSON {kind}，而不是对象",
    "{url} answered with something that is not JSON: {start}": "{url} 的回答不是 JSON：{start}",
    "{url} gave an answer that cannot be used: {said}": "{url} 的回答无法使用：{said}",
    "{url} answered without a list of vectors": "{url} 的回答中没有向量列表",
    "{url} answered {count} vectors for {texts} texts, and which belongs to which cannot be told": "{url} 为 {texts} 条文本"
    "回答了 {count} 个向量，无法判断如何对应",
    "{url} answered without a list of scores": "{url} 的回答中没有分数列表",
    "{url} gave no text a score": "{url} 没有给任何文本评分",
    "{model} answered without a message": "{model} 的回答中没有消息",
    "{model} gave an empty reply (finish_reason {finish})": "{model} 的回答为空（finish_reason {finish}）",
    "{wrong} of {size} texts have no vector; text {first}: {fault}": "{size} 条文本中有 {wrong} 条没有向量；第 {first} 条：{fault}",
    "vectors of shape {shape} came where {expected} was expected": "得到形状为 {shape} 的向量，应为 {expected}",
    "a vector of shape {shape} came where {expected} was expected": "得到形状为 {shape} 的向量，应为 {expected}",
    "the vector is not finite or is zero": "向量含无穷值或为零",
    "the embedded model in {folder} cannot be loaded: {reason}": "{folder} 中的内置模型无法加载：{reason}",
    "the embedded model failed: {error}": "内置模型出错：{error}",
    "the reply is empty": "回答为空",
    "the reply holds no JSON object with a list of memories": "回答中没有带记忆列表的 JSON 对象",
    "{where}: {problem} ({count} problems)": "{where}：{problem}（{count} 处问题）",
    "{place}: the disk is full; free some space ({error})": "{place}：磁盘已满，请腾出空间（{error}）",
    "{place}: the file or its folder is read-only; change the permissions or choose another place ({error})": "{place}："
    "文件或文件夹只读，请更改权限或换个位置（{error}）",
    "{place}: the disk reports a read or write error; check the disk ({error})": "{place}：磁盘读写出错，请检查磁盘（{error}）",
    "{place}: it cannot be opened; check that the folder exists and may be written ({error})": "{place}：无法打开，"
    "请检查文件夹是否存在、能否写入（{error}）",
    "{place}: the file is damaged; keep it aside and restore a backup (`orca verify` lists what is wrong) ({error})": "{place}："
    "文件已损坏，请另行保存并恢复备份（orca verify 会列出问题）（{error}）",
    "{place}: the file is damaged: it ends after {size} of {whole} bytes; keep it aside and restore a backup": "{place}："
    "文件已损坏：{whole} 字节中只有 {size} 字节；请另行保存并恢复备份",
    "{place}: the file is not a database or is damaged; keep it aside and restore a backup": "{place}：文件不是数据库或已损坏，"
    "请另行保存并恢复备份",
    "{place}: the file is not a database or is damaged; keep it aside and restore a backup ({error})": "{place}："
    "文件不是数据库或已损坏，请另行保存并恢复备份（{error}）",
    "{place}: another process holds the file locked": "{place}：文件被另一个进程锁定",
    "{place}: another process holds the file locked; try again when it is done ({error})": "{place}：文件被另一个进程锁定，"
    "请稍后再试（{error}）",
    "{place}: the file cannot be read ({error})": "{place}：文件无法读取（{error}）",
    "{place}: there is no such file": "{place}：没有这个文件",
    "{place}: the folder cannot be made ({error})": "{place}：无法建立文件夹（{error}）",
    "{place}: the store is closed; open it again": "{place}：存储已关闭，请重新打开",
    "{place}: the store is closed; open it again ({error})": "{place}：存储已关闭，请重新打开（{error}）",
    "{place}: another connection holds a table locked; try again when it is done ({error})": "{place}：表被另一个连接锁定，"
    "请稍后再试（{error}）",
    "{place}: the file's locks do not work, as on some network folders; move it to a local disk ({error})": "{place}："
    "文件锁不起作用（某些网络文件夹会如此），请移到本地磁盘（{error}）",
    "{place}: access is denied; change the permissions ({error})": "{place}：拒绝访问，请更改权限（{error}）",
    "{place}: there is not enough memory ({error})": "{place}：内存不足（{error}）",
    "{place}: the file is too large for this system ({error})": "{place}：文件对此系统过大（{error}）",
    "{place}: access was denied by an authorizer ({error})": "{place}：访问被授权程序拒绝（{error}）",
    "{place}: a connection was carried over a fork; open the store anew in the child ({error})": "{place}：连接被带过了 fork，"
    "请在子进程中重新打开存储（{error}）",
    "{place}: the operation was interrupted; try again ({error})": "{place}：操作被中断，请重试（{error}）",
}
"""Why jobs and providers failed, and why the store cannot be used."""

CHECKS = {
    "vector extension": "向量扩展",
    "sqlite-vec is missing; vectors wait": "缺少 sqlite-vec，向量等待中",
    "file integrity": "文件完整性",
    "references": "引用关系",
    "all hold": "全部成立",
    "{count} broken, first in {table}": "{count} 处断开，首处在 {table}",
    "keyword index of {table}": "{table} 的关键词索引",
    "{rows} rows indexed, {missing} missing, {extra} without a row, {wrong} wrong totals": "已索引 {rows} 行，缺 {missing} 行，"
    "多出 {extra} 行，{wrong} 处总数有误",
    "vectors of {table}": "{table} 的向量",
    "{total} vectors in the current space, {wrong} rows wrongly marked": "当前空间有 {total} 个向量，{wrong} 行标记有误",
    "vector codes of {table}": "{table} 的向量编码",
    "{codes} codes, {wrong} missing or wrong, {extra} without a vector": "{codes} 个编码，{wrong} 个缺失或有误，{extra} 个没有向量",
    "orphan vectors of {table}": "{table} 的孤立向量",
    "{count} vectors without a row": "{count} 个向量没有对应的行",
    "jobs of {table}": "{table} 的任务",
    "{rows} rows wait for a vector without a job, {jobs} jobs without a row": "{rows} 行等待向量却没有任务，{jobs} 个任务没有对应的行",
    "sub-agent runs": "子代理运行",
    "{count} steps or runs without what they belong to": "{count} 个步骤或运行没有所属",
    "versions of memories": "记忆的版本",
    "{count} versions point nowhere": "{count} 个版本没有指向",
    "tallies": "计数",
    "agree with the rows": "与各行一致",
    "wrong for {kinds}; orca reindex counts anew": "{kinds} 有误；orca reindex 会重新计数",
    "inside of {table}": "{table} 的内部",
}
"""What ``verify`` checks, and what it finds."""

TEMPLATES = {**LEDGER, **MISSING, **FAILURES, **CHECKS}
"""Every reason by its English template; what stands in braces may be a reason itself."""

_FIELD = re.compile(r"\{(\w+)\}")


def _pattern(template: str) -> re.Pattern[str]:
    literals = _FIELD.split(template)
    parts = [re.escape(part) if place % 2 == 0 else f"(?P<{part}>.+?)" for place, part in enumerate(literals)]
    return re.compile("".join(parts), re.DOTALL)


_PATTERNS = sorted(
    ((_pattern(english), chinese) for english, chinese in TEMPLATES.items() if "{" in english),
    key=lambda entry: -len(re.sub(r"\(\?P<\w+>\.\+\?\)", "", entry[0].pattern)),
)
"""Those with fields, the most literal first: it says the most of the text."""


@lru_cache(maxsize=4096)
def in_chinese(reason: str) -> str:
    """Return a reason in Chinese; several that are joined by semicolons, each; what is not known, as it is."""
    if reason in TEMPLATES:
        return TEMPLATES[reason]
    for pattern, chinese in _PATTERNS:
        match = pattern.fullmatch(reason)
        if match is not None:
            return chinese.format(**{name: in_chinese(text) for name, text in match.groupdict().items()})
    head, semicolon, rest = reason.partition("; ")
    return f"{in_chinese(head)}；{in_chinese(rest)}" if semicolon else reason

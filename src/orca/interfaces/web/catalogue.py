"""Chinese for everything that the Web UI says, keyed by the English in templates and code; a test keeps it complete."""

from orca.interfaces.web.catalogue_pages import PAGES

CHINESE: dict[str, str] = {
    **PAGES,
    "Memory": "记忆",
    "Overview": "概览",
    "Sessions": "会话",
    "Messages": "消息",
    "Summaries": "摘要",
    "Memories": "长期记忆",
    "Sub-agent runs": "子代理运行",
    "Waiting jobs": "等待中的任务",
    "Skip to content": "跳到正文",
    "Main navigation": "主导航",
    "Language": "语言",
    "User": "用户",
    "Switch": "切换",
    "Sign in": "登录",
    "Sign out": "退出登录",
    "Access token": "访问令牌",
    "This server asks for the access token that it was started with.": "此服务器需要启动时设定的访问令牌。",
    "That is not the access token.": "访问令牌不正确。",
    "Something went wrong": "出错了",
    "Back to the overview": "返回概览",
    "What is missing": "缺少的部分",
    "There is nothing at this address.": "此地址没有内容。",
    "This cannot be done here.": "此处不能这样做。",
}

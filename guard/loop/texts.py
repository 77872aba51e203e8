"""The loop's fixed texts, and the strategies that help after a trip."""

from __future__ import annotations

from guard.loop.state import Breaker

START = (
    "Circuit breaker enabled — monitoring stagnation, rate limits and protected files. "
    "断路器已启用——正在监控停滞、速率限制和文件保护。"
)
SAME_ERROR = "Same error repeated in {count} consecutive loops"
NO_PROGRESS = "No progress detected in {count} consecutive loops"
HALTED = "Execution halted"
RESET = "Circuit breaker reset to CLOSED state"
NEW_HOUR = "call counter reset for new hour"
MONITORING = "monitoring mode"
RECOVERED = "circuit recovered"
ALL_DONE = "所有任务已完成"
RATE_LIMIT = "Rate limit reached. Waiting {time}..."
RETRY = "API 5-hour limit reached. Retry? (y/n)"
SCARCE = "{left} of {limit} calls are left this hour: do the most valuable task first."

# What each cause says in the log when it trips; the others say their name.
CAUSES = {"same_error": SAME_ERROR, "no_progress": NO_PROGRESS}

# By kind: what the prompt of the probe and of the watched iterations says, one after the other.
STRATEGIES: dict[str, tuple[str, str, str, str]] = {
    "no progress": (
        "The last iterations changed nothing that counts. Analyse the task again from the beginning and make a new plan.",
        "The task did not move. Split it into at least three smaller subtasks, write them into the plan, and do the first one.",
        "The task is stuck. Leave it open, say why in the plan, and go on with the next one.",
        "Escalate to the user: say what was tried, what happened each time, and what is needed to go on.",
    ),
    "same error": (
        "The same error came back each time. Change the approach: do not repeat what led to it.",
        "The same error came back. Find out whether the environment causes it: versions, paths, permissions, network, space.",
        "The same error came back. Search for it among known issues of the tools that are involved.",
        "Escalate to the user with the error log: the full error, when it appears, and what was tried.",
    ),
    "test fix": (
        "The last iterations only worked on tests. Check what the tests assume: is that still what is wanted?",
        "Only tests were changed. Check the implementation instead: the tests may be right.",
        "Only tests were changed. Narrow the scope: one failing test, its cause, one change.",
        "Escalate to the user with a test analysis: which tests fail, what each expects, what the code does.",
    ),
    "circular": (
        "The same approaches alternate. Pause and analyse the root cause before any change.",
        "The same approaches alternate. Try one that was not tried yet; name it first.",
        "The same approaches alternate. Make the smallest version that runs, and build on that.",
        "Escalate to the user with the history of the approaches, and why each one failed.",
    ),
    "allow list": (
        "A tool call was denied because the allow list does not cover it. Do without it, or say exactly which one is needed.",
    )
    * 4,
}
TOO_LONG = (
    "The prompt is too long for the agent's model: shorten the prompt, the plan and the files that the agent reads at its start, "
    "split the task, or let each call begin a new session (without --continue)."
)
PERMISSION = "Tool calls were denied that --allowed-tools (ALLOWED_TOOLS) does not cover: {gaps}. Allow what is meant to be used."


def strategy(breaker: Breaker) -> str:
    """The text for the prompt of a probe or a watched iteration; "" where there is none."""
    from guard.loop.detectors import by_cause

    row = by_cause(breaker.cause)
    texts = STRATEGIES.get(row.advice) if row is not None else None
    return texts[min(breaker.strategy, len(texts)) - 1] if texts and breaker.strategy else ""


def tripped(cause: str, count: int) -> str:
    """What the log says of a trip."""
    return CAUSES.get(cause, cause).format(count=count)


def countdown(seconds: int) -> str:
    """A wait as HH:MM:SS."""
    seconds = max(0, seconds)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


BROKEN_OFF = "it took longer than it may, and was broken off"

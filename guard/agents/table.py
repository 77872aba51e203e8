"""The clients as data, one row each: how they call a hook, what their tools are, what they take for an answer.

docs/agents.md says where each row comes from, and which version it was measured with.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple
else:
    from guard.record import NamedTuple

# What an event is to guard.
BEFORE, AFTER, START, END, OTHER = "before", "after", "start", "end", "other"

# What a tool does with its arguments.
SHELL = "shell"  # runs a text in a shell
TYPE = "type"  # types a text into a program that runs already
WRITE = "write"  # gives a file a content
EDIT = "edit"  # changes passages of a file
NOTEBOOK = "notebook"  # changes a cell of a notebook
PATCH = "patch"  # applies a patch, which names its files itself
DELETE = "delete"
MOVE = "move"
READ = "read"  # only looks

# How a client takes a refusal. The status is 2 and the reason stands on standard error in any case.
STATUS = "status"  # nothing else
FLAT = "flat"  # {"permissionDecision": "deny", ...} on standard output, too
PERMISSION = "permission"  # {"permission": "deny", ...} on standard output, too
NAMED = "named"  # {"hookSpecificOutput": {...}} on standard output, too, at the event PreToolUse

# How the model gets to read what happened after a tool.
CONTEXT = "context"  # {"hookSpecificOutput": {"additionalContext": ...}}
FLAT_CONTEXT = "flat-context"  # {"additionalContext": ...}
SNAKE_CONTEXT = "snake-context"  # {"additional_context": ...}


class Client(NamedTuple):
    """One client. The keys are tried in their order; the first one that the payload has counts.

    `measured` is the version that this was seen with, "" for what is known from its manual only. `events` says what an event
    is to guard. `tool`, `arguments`, `directory`, `event`, `session`, `call` and `version` are keys of the payload, `result`
    those that only an event after a tool has, `inline` the arguments that stand at the top of the payload instead.
    `place` are arguments that name the directory of a shell, relative to that of the payload. `typing` are tools that type
    into running programs without any hook being called, so that a shell that waits for input is one that nobody sees.
    `monitors` are tools whose command always goes on when they are over.
    `refusal` and `report` are forms (above); a `consent` that is not silent is written to standard output. `ask` is True where
    a question with a reason is shown to whoever attends, which `attended` tells: the first of these variables that is set
    decides, by its value. `marks` are the variables that the client sets in its tools' shells, `programs` its names.
    """

    name: str
    title: str
    measured: str
    events: Mapping[str, str]
    tools: Mapping[str, str]
    tool: tuple[str, ...] = ("tool_name",)
    arguments: tuple[str, ...] = ("tool_input",)
    directory: tuple[str, ...] = ("cwd",)
    event: tuple[str, ...] = ("hook_event_name",)
    session: tuple[str, ...] = ("session_id",)
    call: tuple[str, ...] = ("tool_use_id",)
    version: tuple[str, ...] = ()
    result: tuple[str, ...] = ("tool_response",)
    inline: tuple[str, ...] = ()
    place: tuple[str, ...] = ()
    typing: tuple[str, ...] = ()
    monitors: tuple[str, ...] = ()
    refusal: str = STATUS
    consent: str = ""
    report: str = CONTEXT
    ask: bool = False
    attended: tuple[tuple[str, str], ...] = ()
    marks: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


_CLAUDE_EVENTS = {
    "PreToolUse": BEFORE,
    "PostToolUse": AFTER,
    "PostToolUseFailure": AFTER,
    "SessionStart": START,
    "SessionEnd": END,
    "Stop": END,
    "UserPromptSubmit": OTHER,
    "SubagentStart": OTHER,
    "SubagentStop": OTHER,
    "Notification": OTHER,
    "PreCompact": OTHER,
}

# What reads, asks, plans, or leads to calls of other tools.
_CLAUDE_READS = """Read Grep Glob LS NotebookRead WebFetch WebSearch TodoWrite Task Agent Skill ToolSearch BashOutput TaskOutput
    KillShell TaskStop TaskCreate TaskUpdate TaskGet TaskList ExitPlanMode EnterPlanMode AskUserQuestion ListMcpResourcesTool
    ReadMcpResourceTool""".split()

CLIENTS: dict[str, Client] = {
    "claude": Client(
        "claude",
        "Claude Code",
        "2.1.332",
        _CLAUDE_EVENTS,
        {
            "Bash": SHELL,
            "Monitor": SHELL,
            "Write": WRITE,
            "Edit": EDIT,
            "MultiEdit": EDIT,
            "NotebookEdit": NOTEBOOK,
            **dict.fromkeys(_CLAUDE_READS, READ),
        },
        monitors=("Monitor",),
        refusal=NAMED,
        ask=True,
        attended=(("CLAUDE_CODE_SESSION_ATTENDED", "1"), ("CLAUDE_CODE_ENTRYPOINT", "cli")),
        marks=("CLAUDECODE",),
        programs=("claude", "claude-code"),
    ),
    "codex": Client(
        "codex",
        "Codex",
        "0.171.0",
        _CLAUDE_EVENTS,
        {"Bash": SHELL, "shell": SHELL, "exec_command": SHELL, "apply_patch": PATCH, "write_stdin": TYPE, "update_plan": READ},
        typing=("write_stdin",),
        marks=("CODEX_SESSION_ID", "CODEX_THREAD_ID", "CODEX_CI"),
        programs=("codex",),
    ),
    "gemini": Client(
        "gemini",
        "Gemini CLI",
        "0.61.0",
        {
            "BeforeTool": BEFORE,
            "AfterTool": AFTER,
            "SessionStart": START,
            **dict.fromkeys(("SessionEnd", "AfterAgent"), END),
            **dict.fromkeys(("BeforeAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "Notification"), OTHER),
        },
        {
            "run_shell_command": SHELL,
            "write_file": WRITE,
            "replace": EDIT,
            **dict.fromkeys(("read_file", "read_many_files", "list_directory", "glob", "search_file_content"), READ),
        },
        place=("dir_path", "directory"),
        marks=("GEMINI_CLI",),
        programs=("gemini", "gemini-cli"),
    ),
    "qwen": Client(
        "qwen",
        "Qwen Code",
        "0.15.10",
        _CLAUDE_EVENTS,
        {
            "run_shell_command": SHELL,
            "monitor": SHELL,
            "write_file": WRITE,
            "edit": EDIT,
            **dict.fromkeys(("read_file", "read_many_files", "list_directory", "glob", "grep_search", "todo_write"), READ),
        },
        place=("directory", "dir_path"),
        monitors=("monitor",),
        marks=("QWEN_CODE",),
        programs=("qwen", "qwen-code"),
    ),
    "copilot": Client(
        "copilot",
        "Copilot CLI",
        "1.0.102",
        {
            **_CLAUDE_EVENTS,
            "preToolUse": BEFORE,
            "postToolUse": AFTER,
            "postToolUseFailure": AFTER,
            "sessionStart": START,
            **dict.fromkeys(("sessionEnd", "agentStop"), END),
            **dict.fromkeys(("userPromptSubmitted", "errorOccurred", "subagentStop"), OTHER),
        },
        {
            "bash": SHELL,
            "Bash": SHELL,
            "write_bash": TYPE,
            "create": WRITE,
            "Write": WRITE,
            "edit": EDIT,
            "Edit": EDIT,
            "apply_patch": PATCH,
            **dict.fromkeys(("view", "Read", "grep", "Grep", "glob", "Glob", "read_bash", "report_intent", "task"), READ),
        },
        tool=("toolName", "tool_name"),
        arguments=("toolArgs", "tool_input"),
        event=("hook_event_name", "hookEventName"),
        session=("sessionId", "session_id"),
        call=("toolCallId", "tool_use_id"),
        result=("toolResult", "tool_result", "tool_response"),
        typing=("write_bash",),
        refusal=FLAT,
        report=FLAT_CONTEXT,
        marks=("COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"),
        programs=("copilot",),
    ),
    "cursor": Client(
        "cursor",
        "Cursor",
        "",
        {
            **dict.fromkeys(("beforeShellExecution", "beforeMCPExecution", "preToolUse"), BEFORE),
            **dict.fromkeys(("afterShellExecution", "afterMCPExecution", "afterFileEdit"), AFTER),
            **dict.fromkeys(("postToolUse", "postToolUseFailure"), AFTER),
            "sessionStart": START,
            **dict.fromkeys(("sessionEnd", "stop"), END),
            **dict.fromkeys(("beforeSubmitPrompt", "beforeReadFile", "afterAgentResponse", "afterAgentThought"), OTHER),
        },
        {
            "Shell": SHELL,
            "Write": WRITE,
            "Edit": EDIT,
            "StrReplace": EDIT,
            "Delete": DELETE,
            "EditNotebook": NOTEBOOK,
            **dict.fromkeys(("Read", "Grep", "Glob", "LS", "Task", "SemanticSearch"), READ),
        },
        directory=("cwd", "workspace_roots"),
        session=("conversation_id", "session_id"),
        call=("tool_use_id", "generation_id"),
        version=("cursor_version",),
        result=("tool_output", "result_json", "output", "edits"),
        inline=("command",),
        place=("working_directory", "cwd"),
        refusal=PERMISSION,
        consent='{"permission":"allow"}\n',
        report=SNAKE_CONTEXT,
        marks=("CURSOR_AGENT", "CURSOR_TRACE_ID"),
        programs=("cursor-agent",),
    ),
    # No command hooks: hooks/opencode.js calls with a form of its own.
    "opencode": Client(
        "opencode",
        "OpenCode",
        "1.18.33",
        {"tool.execute.before": BEFORE, "tool.execute.after": AFTER, "session.created": START, "session.idle": END},
        {
            "bash": SHELL,
            "write": WRITE,
            "edit": EDIT,
            "multiedit": EDIT,
            "patch": PATCH,
            "apply_patch": PATCH,
            **dict.fromkeys(("read", "grep", "glob", "list", "webfetch", "todoread", "todowrite", "task"), READ),
        },
        version=("version",),
        place=("workdir",),
        report=STATUS,
        marks=("OPENCODE",),
        programs=("opencode",),
    ),
}

# The names of arguments by what they say, whoever names them; a call is judged by every one that it gives.
COMMAND = ("command", "cmd", "script")
TYPED = ("chars", "input", "text", "keys")
FILE = ("file_path", "path", "filePath", "notebook_path", "notebookPath", "target_file", "target_notebook", "filename", "file")
CONTENT = ("content", "file_text", "contents", "text", "data", "new_source", "newSource")
OLD = ("old_string", "old_str", "oldString", "oldText", "old_text", "search")
NEW = ("new_string", "new_str", "newString", "newText", "new_text", "replace")
EVERY = ("replace_all", "replaceAll", "allow_multiple")
EDITS = ("edits", "replacements")
PATCH_TEXT = ("command", "input", "patch", "patchText", "patch_text", "diff")
BACKGROUND = ("run_in_background", "is_background", "runInBackground", "detach", "mode")  # true, or "async"
TASK = ("backgroundTaskId", "background_task_id")  # in the result of a shell that has been put into the background
STILL_RUNNING = ("Process running with session ID",)  # in such a result where it is a text
SOURCE = ("source", "source_path", "old_path", "from", "src", "oldPath", "sourcePath")
DESTINATION = ("destination", "destination_path", "new_path", "to", "dst", "newPath", "destinationPath", "target")

# Tools that no row names, of MCP servers among them, by the end of their names: "mcp__files__write_file" writes. One word alone
# says something only where it is the whole name, or all that follows the name of an MCP server.
GENERIC = {
    **dict.fromkeys(("write_file", "create_file", "save_file", "write_to_file", "create_text_file"), WRITE),
    **dict.fromkeys(("edit_file", "str_replace", "replace_in_file", "search_replace", "patch_file", "append_file"), EDIT),
    **dict.fromkeys(("apply_patch", "apply_diff"), PATCH),
    **dict.fromkeys(("delete_file", "remove_file", "delete_directory", "remove_directory", "delete_path"), DELETE),
    **dict.fromkeys(("move_file", "rename_file", "move_path", "rename_path", "move_directory", "rename_directory"), MOVE),
    **dict.fromkeys(("run_command", "execute_command", "run_terminal_cmd", "run_in_terminal", "shell_exec"), SHELL),
    **dict.fromkeys(("run_shell_command", "exec_command", "execute_shell", "run_shell"), SHELL),
}
SINGLE = {
    "bash": SHELL,
    "shell": SHELL,
    "terminal": SHELL,
    "write": WRITE,
    "create": WRITE,
    "edit": EDIT,
    "multiedit": EDIT,
    "replace": EDIT,
    "notebookedit": NOTEBOOK,
    "patch": PATCH,
    "delete": DELETE,
    "remove": DELETE,
    "unlink": DELETE,
    "move": MOVE,
    "rename": MOVE,
}


def kind(client: Client, tool: str, arguments: Mapping[str, object]) -> str:
    """What a tool does with its arguments; "" for one that nothing is known of.

    A tool of the client's own that is new here and takes a command is a shell. One of anybody's that takes the absolute path of a
    file and a content writes, with an old and a new passage it edits: other paths may be some of another machine.
    """
    if tool in client.tools:
        return client.tools[tool]
    name = tool.rpartition("__")[2] if tool.startswith("mcp__") else tool.removeprefix("MCP:")
    name = name.replace("-", "_").replace(".", "_").replace("/", "_").lower()
    if name in SINGLE:
        return SINGLE[name]
    found = next((found for end, found in GENERIC.items() if name == end or name.endswith("_" + end)), "")
    foreign = tool.lower().startswith("mcp") or not tool.replace("_", "").isalnum()
    return found or (SHELL if not foreign and isinstance(arguments.get("command"), str) else _by_arguments(arguments))


def _by_arguments(arguments: Mapping[str, object]) -> str:
    def text(keys: tuple[str, ...]) -> bool:
        return any(isinstance(arguments.get(key), str) for key in keys)

    paths = (str(arguments.get(key)) for key in FILE)
    if not any(path.startswith(("/", "~/", "file:///")) for path in paths):
        return ""
    if text(OLD) and text(NEW):
        return EDIT
    return WRITE if text(CONTENT) else ""

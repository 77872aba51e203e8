"""Editors that are driven by a script: ed, ex, vi and vim, emacs in batch mode."""

from __future__ import annotations

from guard import expressions as re
from guard.effects import DELETE, EDIT, OPEN_SHELL, OVERWRITE, Analysis, At, Pattern, Somewhere, Text, unknown
from guard.overlay import FILE
from guard.tools.call import analysis
from guard.tools.changes import Changes, encoded
from guard.tools.line_editor import LineEditor, ScriptOverError
from guard.tools.options import Options, Table, parse
from guard.tools.reading import decoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.call import Call

_MARK = "\ue000"  # stands in a script for what is not known
ED = Table(
    flags="EGhlrsv", values="p", long={"prompt": "=", "quiet": "", "silent": "", "restricted": "", "help": "", "version": ""}
)
VIM = Table(
    flags="ARZnbCdDeEfFgHhLlMmNnopOrsvVxXyY",
    values="cSTutiqwWP",
    long={
        "cmd": "=", "clean": "", "noplugin": "", "not-a-term": "", "headless": "", "embed": "", "startuptime": "=", "help": "",
        "version": "", "remote": "", "remote-silent": "", "servername": "=", "nofork": "", "literal": "", "ttyfail": "",
        "listen": "=",
        "server": "=", "remote-send": "=", "remote-expr": "=", "gui-dialog-file": "=", "log": "=", "socketid": "=",
        "windowid": "=",
    },
    same={"cmd": "cmd"},
)  # fmt: skip


class _Hands:
    """What an editor does outside of its buffer."""

    def __init__(self, call: Call, vim: bool) -> None:
        self.changes = Changes(call)
        self.call = self.changes.call
        self.vim = vim
        self.restricted = False
        self.own: set[str] = set()  # the files that were opened: writing them back is an edit
        self.buffers: dict[str, LineEditor] = {}

    def write(self, name: str, lines: list[str] | None, append: bool, force: bool) -> None:
        """w: the buffer goes to a file."""
        if not name:
            return
        if _MARK in name:
            self.changes.add(OVERWRITE, self.call.somewhere("."), certain=False)
            return
        if self.vim and name not in self.own and not force and not append and self.call.exists(name):
            return
        content = None if lines is None else encoded("".join(line + "\n" for line in lines))
        if append:
            old = self.call.read(name) if self.call.exists(name) else b""
            content = None if content is None or old is None else old + content
        action = EDIT if append or name in self.own else OVERWRITE
        self.changes.write(self.changes.opened(name), content, action=action)

    def read(self, name: str) -> list[str] | None:
        """r and e: the lines of a file, none where it does not exist."""
        if _MARK in name:
            return None
        data = self.call.read(name)
        if data is None:
            return None if self.call.exists(name) else []
        text = decoded(data)
        return text.removesuffix("\n").split("\n") if text else []

    def shell(self, command: str, lines: list[str] | None) -> list[str] | None:
        """!: a command, with lines for its input."""
        if self.restricted:
            return None
        text: Text = unknown("unknown-output", command.replace(_MARK, "...")) if _MARK in command else command
        stdin = None if lines is None else "".join(line + "\n" for line in lines)
        output = self.call.shell(text, stdin=stdin).output
        return output.removesuffix("\n").split("\n") if isinstance(output, str) else None

    def open(self, name: str) -> LineEditor:
        """A buffer with a file in it."""
        self.own.add(name)
        if name.startswith("!"):
            self.shell(name[1:], None)
            return LineEditor(self, "", None, self.vim)
        self.buffers[name] = LineEditor(self, name, self.read(name), self.vim)
        return self.buffers[name]

    def visit(self, name: str) -> list[str] | None:
        """e: the lines of a file that may be written back from now on."""
        self.own.add(name)
        return self.read(name)


def _marked(text: Text) -> str:
    return text if isinstance(text, str) else "".join(p if isinstance(p, str) else _MARK for p in text.pieces)


def _run(editor: LineEditor, script: list[str]) -> None:
    """Runs a script as far as it goes: at an error the rest is skipped, but what it might still write counts as an edit."""
    try:
        editor.run(script)
    except (ScriptOverError, RecursionError, ValueError, IndexError):
        return


def ed(call: Call) -> Analysis:
    """ed reads its commands from standard input."""
    options = parse(call.argv[1:], ED)
    if call.stdin is None or options.has("help", "version", "h") or options.strange:
        return analysis()
    hands = _Hands(call, vim=False)
    hands.restricted = options.has("r", "restricted") or str(call.argv[0]).endswith("red")
    operand = options.operands[0] if options.operands else ""
    if isinstance(operand, Pattern):
        hands.changes.add(EDIT, call.through(operand), certain=False)
        operand = _MARK
    editor = hands.open(operand)
    for line in _marked(call.stdin).split("\n"):
        if _MARK in line and not line.lstrip().startswith(("!", "w", "W", "e", "r")):
            editor.lines = None
    _each(editor, _marked(call.stdin).split("\n"))
    return hands.changes.result(unknown("unknown-output", "ed"))._replace(status=None)


def _each(editor: LineEditor, script: list[str]) -> None:
    """ed goes on behind a command that fails, when its input is not a terminal: it stops there."""
    _run(editor, script)


def ex(call: Call) -> Analysis:
    """ex, the line mode of vi."""
    return _vim(call, line_mode=True)


def vi(call: Call) -> Analysis:
    """vi, vim and nvim, as far as -c, +, -S, -es and standard input drive them; else somebody edits by hand."""
    return _vim(call, line_mode=False)


def _vim(call: Call, line_mode: bool) -> Analysis:
    words = call.argv[1:]
    split = [part for word in words for part in (("-e", "-s") if word in ("-es", "-Es") else (word,))]
    plus = [word for word in split if isinstance(word, str) and word.startswith("+")]
    options = parse([word for word in split if word not in plus], VIM)
    if options.has("help", "version", "h"):
        return analysis(output=unknown("unknown-output", "vim"))
    hands = _Hands(call, vim=True)
    script = _vim_script(hands, options, plus)
    line_mode = line_mode or options.has("e", "E")
    if isinstance(call.stdin, str | Pattern):
        typed = _marked(call.stdin).split("\n")
        script += [("command", line) for line in typed] if line_mode else [("command", line) for line in typed if line[:1] == ":"]
    names = [_marked(name) for name in options.operands]
    editor = hands.open(names[0] if names else "")
    hands.own |= set(names)
    _drive(hands, editor, names, script)
    return hands.changes.result("")._replace(status=None)


def _vim_script(hands: _Hands, options: Options, plus: list[str]) -> list[tuple[str, str]]:
    """The commands in order: those of --cmd, of -c and +, of the files of -S."""
    commands = [("command", _marked(value)) for name, value in options.given if name == "cmd"]
    for name, value in options.given:
        if name == "c":
            commands += [("command", line) for line in _marked(value).split("\n")]
        elif name == "S":
            lines = hands.read(_marked(value))
            commands += [("command", line) for line in lines] if lines is not None else [("strange", "")]
    for word in plus:
        commands.append(("command", word[1:] or "$"))
    return commands


_PARTS = re.compile(r"(?:[^|\\]|\\.|(?<=\\)\|)+")
_CALLS = {
    "delete": re.compile(r"""\bdelete\(\s*(['"])(.*?)\1\s*(,\s*['"]rf['"])?\s*\)"""),
    "writefile": re.compile(r"""\bwritefile\(.*,\s*(['"])([^'"]*)\1\s*(,\s*['"]\w*a\w*['"])?\s*\)"""),
    "system": re.compile(r"""\bsystem(?:list)?\(\s*(['"])(.*?)\1"""),
    "rename": re.compile(r"""\brename\(\s*(['"])(.*?)\1\s*,\s*(['"].*?['"])\s*\)"""),
}


def _drive(hands: _Hands, editor: LineEditor, names: list[str], script: list[tuple[str, str]]) -> None:
    try:
        for kind, line in script:
            if kind == "strange":
                editor.lines = None
                continue
            _vim_line(hands, editor, names, line.strip().lstrip(":"))
    except (ScriptOverError, RecursionError, IndexError):
        return


def _vim_line(hands: _Hands, editor: LineEditor, names: list[str], line: str) -> None:
    """One line of vim: functions that reach outside, commands over all files, commands on the buffer."""
    _functions(hands, line)
    spread = re.match(r"(?:sil\w*!?\s+)?(?:argdo|bufdo|windo|tabdo)!?\s+(.*)", line)
    if spread:
        for name in names:
            _commands(hands.buffers.get(name) or hands.open(name), spread[1])
        return
    if re.fullmatch(r"(wa|wall|wqa|wqall|xa|xall)!?", line):
        for each in {id(buffer): buffer for buffer in (*hands.buffers.values(), editor)}.values():
            if each.modified:
                _commands(each, "w")
        if line[:2] in ("wq", "xa"):
            raise ScriptOverError
        return
    line = "w" if re.fullmatch(r"(wn|wnext)!?", line) else line
    if re.match(r"(?:term(?:inal)?|sh(?:ell)?)\b", line):
        hands.changes.add(OPEN_SHELL, Somewhere("/"))
        return
    if line.startswith(("so ", "source ")):
        found = hands.read(line.partition(" ")[2].strip())
        for inner in found or ():
            _vim_line(hands, editor, names, inner.strip().lstrip(":"))
        return
    if re.match(r"(call|exe\w*|py\w*|lua|perl|ruby)\b", line):
        editor.lines = None
        return
    _commands(editor, line)


def _commands(editor: LineEditor, line: str) -> None:
    """The commands of a line, which "|" separates except behind g, v, normal and !."""
    whole = re.match(r"[^a-zA-Z!]*(?:g|v|global|vglobal|norm\w*)\b|[^|]*?(?<![a-z])!|r\s*!|w\s*!", line)
    for part in [line] if whole else [part.replace("\\|", "\\|") for part in _PARTS.findall(line)]:
        if _MARK in part and not re.match(r"\W*[wre!]", part):
            editor.lines = None
            continue
        try:
            editor.run([part.strip()])
        except ValueError:
            continue


def _functions(hands: _Hands, line: str) -> None:
    for found in _CALLS["delete"].finditer(line):
        if found[3] or hands.call.kind(found[2]) != "directory":
            target = hands.changes.entry(found[2])
            if target is not None:
                hands.changes.delete(target)
    for found in _CALLS["writefile"].finditer(line):
        hands.changes.write(hands.changes.opened(found[2]), action=EDIT if found[3] else OVERWRITE)
    for found in _CALLS["system"].finditer(line):
        hands.shell(found[2], None)
    for found in _CALLS["rename"].finditer(line):
        hands.call.run(("mv", "-f", found[2], found[3][1:-1]))


_LISP_STRING = r'"((?:[^"\\]|\\.)*)"'
_LISP = {
    "delete": re.compile(rf"\((?:delete-file|move-file-to-trash)\s+{_LISP_STRING}"),
    "tree": re.compile(rf"\(delete-directory\s+{_LISP_STRING}(\s+t)?"),
    "shell": re.compile(rf"\((?:shell-command(?:-to-string)?|async-shell-command|compile)\s+{_LISP_STRING}"),
    "process": re.compile(rf"\((?:call-process|start-process)\s+{_LISP_STRING}([^)]*)"),
    "rename": re.compile(rf"\(rename-file\s+{_LISP_STRING}\s+{_LISP_STRING}"),
    "copy": re.compile(rf"\(copy-file\s+{_LISP_STRING}\s+{_LISP_STRING}(\s+t)?"),
    "write": re.compile(
        rf"\((?:write-region\s+\S+\s+\S+|write-file|f-write-text\s+.*?)\s+{_LISP_STRING}|\(with-temp-file\s+{_LISP_STRING}"
    ),
    "visit": re.compile(rf"\(find-file(?:-noselect|-literally)?\s+{_LISP_STRING}"),
}


def emacs(call: Call) -> Analysis:
    """emacs in batch mode, as far as its Lisp names files and commands in plain text; else somebody edits by hand."""
    hands = _Hands(call, vim=False)
    files: list[Text] = []
    programs: list[Text] = []
    words = list(call.argv[1:])
    while words:
        word = words.pop(0)
        name, _, value = word.partition("=") if isinstance(word, str) else ("", "", "")
        if name in ("--eval", "-eval", "--execute", "-execute", "-l", "--load", "-load", "--script", "-f", "--funcall", "-x"):
            argument: Text = value or (words.pop(0) if words else "")
            loads = name in ("-l", "--load", "-load", "--script", "-x")
            programs.append(
                "\n".join(hands.read(_marked(argument)) or ()) if loads else argument if "f" not in name else f"({argument})"
            )
        elif not isinstance(word, str) or not word.startswith(("-", "+")):
            files.append(word)
    for program in programs:
        _lisp(hands, _marked(program), files)
    return hands.changes.result("")._replace(status=None)


def _lisp(hands: _Hands, program: str, files: list[Text]) -> None:
    for kind, expression in _LISP.items():
        for found in expression.finditer(program):
            first = re.sub(r"\\(.)", r"\1", found[1] or "")
            if kind == "delete" or (kind == "tree" and (found[2] or not hands.call.view.listdir(hands.call.where(first) or "/"))):
                target = hands.changes.entry(first)
                if target is not None:
                    hands.changes.add(DELETE, target)
            elif kind == "shell":
                hands.shell(first, None)
            elif kind == "process":
                hands.call.run((first, *re.findall(_LISP_STRING, found[2])))
            elif kind in ("rename", "copy"):
                hands.call.run(("mv" if kind == "rename" else "cp", "-n", first, found[2]))
            elif kind == "write":
                hands.changes.write(hands.changes.opened(first or found[2]))
            elif kind == "visit":
                files.append(first)
    if re.search(r"\((?:save-buffer|save-some-buffers|basic-save-buffer)", program):
        emptied = b"" if re.search(r"\(erase-buffer\)", program) else None
        for name in files:
            target = hands.changes.opened(name)
            if not isinstance(target, At) or hands.changes.kind(target) == FILE:
                hands.changes.write(target, emptied, action=EDIT)


def opens(call: Call) -> Analysis:
    """An editor in which somebody works by hand."""
    return analysis()

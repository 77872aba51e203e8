"""The commands that are surely harmless, told without a parser: read-only tools, spelled plainly.

It only ever says yes. A text passes when every word of it is understood exactly and every simple command is in the tables
below; whatever else it holds, the full analysis decides.
"""

from __future__ import annotations

from guard import expressions as re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    # A word as the tool will see it; None where an expansion has its say.
    Argument = str | None

SIZE_LIMIT = 8192  # characters; a longer text goes to the full analysis

# What may stand outside quotes, what each kind of quote may hold, and the expansions that can only give text.
_BARE = r"[\w./=,:@%+^-]++"
_FIXED = rf"""(?:{_BARE}|(?<=\w)~|'[^']*+'|"(?:[^"$`\\]|\$(?=["|) ])|\\[^\n])*+"|\\[^\n])++"""
_VALUE = r"\$(?:[A-Za-z_]\w*+|\{[A-Za-z_]\w*+\}|\?)"
_LOOSE = rf"""(?:{_BARE}|[*?~]|{_VALUE}|'[^']*+'|"(?:[^"$`\\]|\$(?=["|) ])|\\[^\n]|{_VALUE})*+"|\\[^\n])++"""
_TOKEN = rf"""(?ax)(?:[ \t]|\\\n)*+(?:
    (?P<operator>\n|&&|\|\||\|&|\||;)
    |(?P<comment>\#[^\n]*+)
    |(?P<redirect>[12]?>&[12]|(?:[12]?>>?|&>>?|<)[ \t]*+/dev/null|<[ \t]*+{_FIXED})(?=[ \t\n;|&]|\Z)
    |(?P<fixed>{_FIXED}|\[|\]|!|\{{\}})(?=[ \t\n;|&]|\Z)
    |(?P<loose>{_LOOSE})(?=[ \t\n;|&]|\Z)
    |(?P<end>\Z))"""
_QUOTED = r"""(?s)'([^']*+)'|"((?:[^"\\]|\\.)*+)"|\\(.)"""
ASSIGNMENT = r"(?a)[A-Za-z_]\w*\+?="


def tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """The tokens of a text: kind (operator, comment, redirect, fixed, loose or end), text and place. The last one is of the
    kind "" where the text goes on with something else; fixed words are literal, loose ones hold expansions that give text."""
    at = 0
    while at < len(text):
        token = re.compile(_TOKEN).match(text, at)
        if token is None or token.end() == at or token.lastgroup is None:
            yield "", text[at:], at
            return
        yield token.lastgroup, token[token.lastgroup], token.start(token.lastgroup)
        at = token.end()


def commands(text: str) -> list[list[Argument]] | None:
    """The simple commands of a text, each as its words; None when it holds anything but plain words and operators."""
    found: list[list[Argument]] = [[]]
    operator = "\n"
    for kind, token, _ in tokens(text):
        if kind == "operator":
            if found[-1]:
                operator = token
                found.append([])
            elif token != "\n":
                return None
        elif kind == "fixed":
            if not found[-1] and re.match(ASSIGNMENT, token):
                return None
            found[-1].append(unquoted(token))
        elif kind == "loose":
            found[-1].append(None)
        elif kind == "" or (kind == "redirect" and not found[-1]):
            return None
    if not found[-1]:
        found.pop()
        if operator not in ("\n", ";"):
            return None
    return found


def unquoted(word: str) -> str:
    """The text of a fixed word."""
    return re.sub(_QUOTED, _quoted_text, word) if "'" in word or '"' in word or "\\" in word else word


def _quoted_text(quoted: re.Match[str]) -> str:
    single, double, escaped = quoted.groups()
    if double is not None:
        return re.sub(r'\\(["\\$`])', r"\1", double) if "\\" in double else double
    return escaped if single is None else single


def harmless(text: str) -> bool:
    """True when the text surely destroys nothing, whatever the tree and the configuration are."""
    if len(text) > SIZE_LIMIT or "\0" in text:
        return False
    found = commands(text)
    return found is not None and all(_reads_only(words) for words in found)


# No argument makes these write a file or run a program, so their arguments may hold expansions.
PLAIN = frozenset(
    """: b2sum base32 base64 basename cat cd cksum cmp column comm cut date df diff dir dirname du echo egrep expand expr
    factor false fgrep fmt fold free getconf grep groups head hexdump id join jq ls lsblk lscpu md5sum nl nproc numfmt od
    paste pgrep pr printenv ps pwd readelf readlink realpath rev seq sha1sum sha224sum sha256sum sha384sum sha512sum sleep
    stat strings sum tac tail tr true tty type uname unexpand uptime vdir wc which whoami zcat""".split()
)

# These have arguments that write or run: a word that matches sends the command to the full analysis.
EXCEPT = {
    "[": r"-[vR]\Z|.*\[.",  # a subscript is evaluated, and may hold a substitution
    "test": r"-[vR]\Z|.*\[.",
    "file": r"-[^-]*C|--c",
    "find": r"-(?:exec|ok|delete|fprint|fls)",
    "nm": r"--pl",
    "objdump": r"--pl",
    "printf": r"-v|[^[]*\[[^$`]*[$`]",
    "rg": r"--(?:pre|hostname)",
    "sort": r"-[^-]*o|--(?:o|co)",
    "tree": r"-[^-]*[oR]|--o",
}

# Each argument has to match.
ONLY = {
    "command": r"-[vV]\Z|[\w.+-]+\Z",
    "env": r"-0\Z",
    "exit": r"\d+\Z",
    "hostname": r"-[AdfIis]\Z",
    "set": r"[+-][euxo]+\Z|pipefail\Z",
}

# Programs that only name themselves when --version is the only argument.
VERSIONED = frozenset(
    "bash cargo clang cmake curl docker g++ gcc git java make mypy node npm perl pip pip3 python python3 ruby tar".split()
)


def _reads_only(words: list[Argument]) -> bool:
    name, arguments = words[0], words[1:]
    if name is None:
        return False
    if name.startswith(("/bin/", "/usr/bin/")):
        name = name.rpartition("/")[2]
    if name in PLAIN and name not in EXCEPT:
        return True
    known = [word for word in arguments if word is not None]
    if len(known) < len(arguments):
        return name == "printf" and arguments[0] is not None and not arguments[0].startswith("-")
    if name in EXCEPT:
        return not any(re.match(EXCEPT[name], word) for word in known)
    if name in ONLY:
        return all(re.match(ONLY[name], word) for word in known) and (name != "command" or known[:1] in (["-v"], ["-V"]))
    if name in VERSIONED and known == ["--version"]:
        return True
    judge = SPECIAL.get(name)
    return judge is not None and judge(known)


# Subcommands of git that read whatever their arguments are, but for those of GIT_WRITES.
GIT_READS = frozenset(
    """blame cat-file check-attr check-ignore cherry count-objects describe diff diff-files diff-index diff-tree for-each-ref grep
    log ls-files ls-tree merge-base name-rev range-diff rev-list rev-parse shortlog show show-branch show-ref status version
    whatchanged""".split()
)
GIT_WRITES = r"--o(?!neline\Z|thers\Z|bjects)|-O|--ext|--textconv|--filters|-o\Z"
# Subcommands of git that read when the arguments, joined by spaces, look like this.
GIT_READS_WITH = {
    "branch": r"(?:(?:-[avr]|-vv|-av|-avv|--all|--list|--remotes|--show-current|--no-color|--verbose)(?: |\Z))*\Z",
    "config": r"(?:--(?:global|local|system|show-origin|null) |-z )*(?:--get|--get-all|--get-regexp|--list|-l|get|list)(?: |\Z)",
    "reflog": r"\Z|show(?: |\Z)|-\d+\Z|-n \d+\Z",
    "remote": r"(?:-v|--verbose|get-url [\w.-]+)?\Z",
    "stash": r"(?:list|show)(?: |\Z)",
    "symbolic-ref": r"(?:(?:-q|--short) )*[\w/.-]+\Z",
    "tag": r"(?:-l|--list|-n\d*)?\Z|(?:-l|--list) [^-]",
    "worktree": r"list(?: |\Z)",
}


def _git(arguments: list[str]) -> bool:
    rest = arguments
    while rest and rest[0] in ("-C", "--no-pager", "-P", "--no-optional-locks"):
        rest = rest[2:] if rest[0] == "-C" else rest[1:]
    if not rest or any(re.match(GIT_WRITES, word) for word in rest[1:]):
        return False
    shape = GIT_READS_WITH.get(rest[0])
    return rest[0] in GIT_READS if shape is None else re.match(shape, " ".join(rest[1:])) is not None


# Scripts of sed that print, delete from the output, or substitute. Its w, e and r are none of them.
_ADDRESS = r"(?:(?:\d+|\$)(?:,(?:\+?\d+|\$))?|/[^/\\;{}\n]*/(?:,/[^/\\;{}\n]*/)?)?"
_TEXT = r"(?:(?!\1)[^\\\n]|\\[^\n])*+\1"
SED_SCRIPT = rf"(?a)(?:{_ADDRESS}[pdq=];?)+\Z|{_ADDRESS}s([/|#,:]){_TEXT}{_TEXT}[gpIi\d]*\Z"


def _sed(arguments: list[str]) -> bool:
    """True for the scripts above, one of them for each -e, else the first operand."""
    scripts: list[str] = []
    operands: list[str] = []
    rest = arguments[::-1]
    while rest:
        word = rest.pop()
        if word in ("-e", "-ne", "-Ee", "-nEe") and rest:
            scripts.append(rest.pop())
        elif not word.startswith("-") or word == "-":
            operands.append(word)
        elif word not in ("-n", "-E", "-r", "-u", "-nE", "-En", "-nr", "-rn"):
            return False
    return bool(scripts or operands) and all(re.match(SED_SCRIPT, script) for script in scripts or operands[:1])


def _awk(arguments: list[str]) -> bool:
    """True for a program that has no way to write or run: no ">", no "|", no system(), no indirect calls."""
    rest = arguments
    while rest and (rest[0] in ("-F", "-v") or re.match(r"-F.|-v\w+=", rest[0])):
        rest = rest[2:] if rest[0] in ("-F", "-v") else rest[1:]
    return bool(rest) and not any(word.startswith("-") for word in rest) and not re.search(r"[>|@]|system|getline", rest[0])


def _uniq(arguments: list[str]) -> bool:
    """True with at most one operand: the second is the output file. The value of an option counts as one."""
    return sum(not word.startswith("-") for word in arguments) <= 1 and "--" not in arguments


_XXD_VALUES = frozenset("-c -cols -g -groupsize -l -len -o -s -seek -n -name".split())


def _xxd(arguments: list[str]) -> bool:
    """True with at most one operand, as for uniq, and not in reverse."""
    operands = [w for w, before in zip(arguments, ["", *arguments], strict=False) if w[:1] != "-" and before not in _XXD_VALUES]
    return len(operands) <= 1 and not any(re.match(r"--?r|--\Z|-\Z", word) for word in arguments)


SPECIAL: dict[str, Callable[[list[str]], bool]] = {
    "awk": _awk,
    "gawk": _awk,
    "mawk": _awk,
    "git": _git,
    "sed": _sed,
    "uniq": _uniq,
    "xxd": _xxd,
}

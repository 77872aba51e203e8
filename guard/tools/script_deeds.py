"""What library functions of the scripting languages do, in a form that all of them share."""

from __future__ import annotations

from guard.effects import Hole, Pattern, Text, join, unknown
from guard.overlay import DIRECTORY
from guard.tools.process import Process, decode, encode, entries
from guard.tools.script_reader import Args, Reader, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from guard.effects import Analysis
    from guard.tools.call import Call
    from guard.tools.script_reader import Deed
    from guard.tools.script_tokens import Language

LOSING = frozenset(  # methods that may leave out most of the text
    ".filter() .slice() .substring() .substr() .split() .shift() .pop() .splice() .match() .find() .join() .at()".split()
)
TURNS = frozenset(  # words of programs that may do a thing not at all, or several times
    (
        "if unless else for foreach while until switch case when try catch function sub def lambda do forEach map filter each "
        "times select reduce then exit die throw raise return sprintf util inspect system exec spawn setTimeout ? & |"
    ).split()
)
FIRST_MARK = 0xE000  # private letters that stand for the unknown parts of a program while it is read


def follow(
    call: Call,
    language: Language,
    source: Text,
    deeds: Mapping[str, Deed],
    argv: list[Text],
    path: str | None,
    names: Mapping[str, str] = {},
    shows: bool = False,
) -> Analysis:
    """What a program does; `argv` are its arguments, `path` its file, `names` modules that it has from the start. With `shows`,
    the value of the program is printed."""
    holes: dict[str, Pattern] = {}
    parts = []
    for piece in (source,) if isinstance(source, str) else source.pieces:
        if isinstance(piece, Hole):
            mark = chr(FIRST_MARK + len(holes) % 0x1000)
            holes[mark] = Pattern((piece,))
            piece = mark
        parts.append(piece)
    process = Process(call, inline=path is None)
    reader = Reader(process, language, "".join(parts), deeds, holes)
    reader.variables.update({name: Value(module=module) for name, module in names.items()})
    reader.variables["ARGV"] = reader.variables["argv"] = reader.variables["_"] = Value(argv)
    if path is not None:
        here = call.path(path)
        reader.variables["__filename"] = reader.variables["0"] = reader.variables["__FILE__"] = Value([here])
        reader.variables["__dirname"] = reader.variables["__dir__"] = reader.variables["__DIR__"] = Value(
            [here.rpartition("/")[0] if isinstance(here, str) else here]
        )
    try:
        value = reader.expression() if shows else None
        reader.run()
    except RecursionError:
        from guard.effects import Unknown

        process.emit(Unknown("too-deep", f"this {language.name} program"))
        value, reader.straight = None, False
    if shows:
        shown(reader, [value] if value is not None and not any(token.value == ";" for token in reader.tokens) else [], "\n")
    known = reader.straight and reader.shown
    process.output = list(reader.shown) if known else [unknown("unknown-output", language.name)]
    return process.result()


def shown(reader: Reader, values: list[Value], end: str, between: str = " ") -> None:
    """Adds to standard output; when it is not known exactly what, or whether, none of the output is."""
    texts = [value.texts[0] for value in values if value.exact and len(value.texts) == 1 and not value.whole]
    if len(texts) != len(values) or not values or TURNS & {token.value for token in reader.tokens}:
        reader.straight = False
        return
    reader.shown += [*[part for text in texts for part in (between, text)][1:], end]


def printed(end: str, between: str = " ") -> Deed:
    """A function that prints its arguments."""

    def run(reader: Reader, args: Args) -> Value:
        shown(reader, args.values, end, between)
        return Value(args.all)

    return run


def each(name: str, at: int | None = None) -> Deed:
    """A deed of guard.tools.process on every text of the argument at a place, or of all arguments."""

    def run(reader: Reader, args: Args) -> None:
        for path in args.all if at is None else args.texts(at):
            getattr(reader.process, name)(path)

    return run


def pairs(name: str) -> Deed:
    """A deed on two paths: every text of the first argument with that of the second one."""

    def run(reader: Reader, args: Args) -> None:
        goals = args.texts(1)
        for at, source in enumerate(args.texts(0)):
            if goals:
                getattr(reader.process, name)(source, goals[at if len(goals) > at else 0])

    return run


def linked(reader: Reader, args: Args) -> None:
    """A symbolic link: what it points at, and its name."""
    for goal, path in zip(args.texts(0), args.texts(1), strict=False):
        reader.process.symlink(goal, path)


def removed(reader: Reader, args: Args) -> None:
    """Files and directories go, with all that is below them."""
    for value in args.values:
        for path in value.texts if not value.options else ():
            for found in expanded(reader.process, path) if isinstance(path, str) and set(path) & set("*?[") else [path]:
                reader.process.remove(found)


def written(reader: Reader, args: Args) -> None:
    """The file of the first argument gets the second one as its content."""
    contents = args.texts(1)
    for path in args.texts(0):
        write(reader, path, contents[0] if len(contents) == 1 else unknown("unknown-argument", "content"))


def write(reader: Reader, path: Text, content: Text) -> None:
    """A file gets a content, which was made from the old one when the program has read that."""
    if isinstance(content, str):
        reader.process.write(path, encode(content))
    else:
        lost = any(hole.what in LOSING for hole in content.holes)
        reader.process.write(path, None, not lost and reader.process.here.where(path) in reader.read)


def appended(reader: Reader, args: Args) -> None:
    """The second argument is added to the file of the first one."""
    contents = args.texts(1)
    for path in args.texts(0):
        known = contents[0] if len(contents) == 1 else None
        reader.process.append(path, encode(known) if isinstance(known, str) else None)


def content(reader: Reader, args: Args) -> Value:
    """What a file holds."""
    found: list[Text] = []
    for path in args.texts(0):
        where = reader.process.here.where(path)
        if where is not None:
            reader.read.add(where)
        data = reader.process.here.read(path)
        found.append(unknown("unknown-argument", f"the content of {path}") if data is None else decode(data))
    return Value(found, exact=len(found) == 1)


def shelled(reader: Reader, args: Args) -> Value:
    """A shell's child, by the text of the first argument; with more arguments, an argument vector."""
    vector = [text for value in args.values for text in value.texts if not value.options]
    if len(vector) == 1 or (args.values and len(args.values[0].texts) > 1 and not args.values[0].whole):
        return reader.shell(vector if len(vector) == 1 else args.texts(0))
    return Value([reader.process.run(tuple(vector)).output]) if vector else Value()


def ran(reader: Reader, args: Args) -> Value:
    """A child by its name and the list of its arguments; by a shell where the option says so."""
    name, words = args.texts(0), args.texts(1)
    if len(args.values) > 1 and args.values[1].options:
        words = []
    directory = next(
        (value.options["cwd"].texts[0] for value in args.values if value.options.get("cwd") and value.options["cwd"].texts), None
    )
    if args.option("shell"):
        text = join(*(part for word in [*name, *words] for part in (" ", word))) if name else ""
        return Value([reader.process.shell(text, cwd=directory).output])
    return Value([reader.process.run((*name[:1], *words), cwd=directory).output]) if name else Value()


def shelled_in(reader: Reader, args: Args) -> Value:
    """A shell's child in the directory that the option names."""
    directory = next(
        (value.options["cwd"].texts[0] for value in args.values if value.options.get("cwd") and value.options["cwd"].texts), None
    )
    for value in args.values:
        reader.apply(value, Value())
    return Value([reader.process.shell(text, cwd=directory).output for text in args.texts(0)])


def changed(reader: Reader, args: Args) -> None:
    """The directory for all that follows."""
    for path in args.texts(0)[:1]:
        reader.process.chdir(path)


def directory(reader: Reader, args: Args) -> Value:
    """The working directory."""
    return Value([reader.process.here.cwd])


def made(reader: Reader, args: Args) -> None:
    """A directory is made."""
    for path in args.texts(0):
        reader.process.mkdir(path, parents=True)


def joined(reader: Reader, args: Args) -> Value:
    """Paths put together."""
    found = Value([""])
    for value in args.values:
        texts = list(value.texts) or [unknown("unknown-argument", "a path")]
        found = Value([_below(one, other) for one in found.texts[:64] for other in texts[:64]])
    return found


def _below(one: Text, other: Text) -> Text:
    start = other if isinstance(other, str) else other.prefix
    if one == "" or start.startswith("/"):
        return other
    return join(one, "/", other) if not (isinstance(one, str) and one.endswith("/")) else join(one, other)


def listed(reader: Reader, args: Args) -> Value:
    """The names in a directory."""
    found: list[Text] = []
    for path in args.texts(0):
        names = entries(reader.process, path)
        found += [unknown("unknown-argument", f"the names in {path}")] if names is None else names
    for value in args.values:
        reader.apply(value, Value(found))
    known = all(isinstance(each, str) for each in found) and len(args.texts(0)) == 1
    return Value(found, whole=known, exact=known)


def opened(reader: Reader, args: Args) -> None:
    """opendir HANDLE, PATH: readdir gives what is in it."""
    if len(args.values) > 1:
        keep_handle(reader, args.values[0], args.texts(1))


def keep_handle(reader: Reader, handle: Value, paths: list[Text]) -> None:
    """Notes what a handle was opened on."""
    if len(paths) == 1:
        reader.handles[handle_name(handle)] = paths[0]


def handle_name(handle: Value) -> str:
    """The name of the variable, or bareword, that a handle is."""
    first = handle.texts[0] if handle.texts else ""
    return handle.module or (first.holes[0].what if isinstance(first, Pattern) else first)


def entered(reader: Reader, args: Args) -> Value:
    """readdir HANDLE"""
    path = reader.handles.get(handle_name(args.values[0])) if args.values else None
    return listed(reader, Args([Value([path])])) if path is not None else Value([unknown("unknown-argument", "readdir()")])


def listed_whole(reader: Reader, args: Args) -> Value:
    """The paths of what is in a directory."""
    found: list[Text] = []
    for path in args.texts(0):
        names = entries(reader.process, path)
        found += [_below(path, name) for name in names or []]
    return Value(found)


def globbed(reader: Reader, args: Args) -> Value:
    """The paths that patterns match."""
    found = reader.glob(args.all)
    known = all(isinstance(path, str) for path in (*found, *args.all))
    return Value(found, whole=known, exact=known)


def nothing(reader: Reader, args: Args) -> Value:
    """A function that harms nothing; what it gives is what it got."""
    for value in args.values:
        reader.apply(value, Value())
    return Value(args.all)


def home(reader: Reader, args: Args) -> Value:
    """The user's home."""
    return Value([reader.process.env.get("HOME", unknown("unknown-variable", "HOME"))])


def environment(reader: Reader, args: Args) -> Value | None:
    """The variable of the environment that the argument names, None where it is not set, or not known which."""
    name = args.texts(0)
    found = reader.process.env.get(name[0]) if len(name) == 1 and isinstance(name[0], str) else None
    return None if found is None else Value([found])


def last_part(reader: Reader, args: Args) -> Value:
    """The last component of a path."""
    return Value([text.rstrip("/").rpartition("/")[2] if isinstance(text, str) else text for text in args.texts(0)])


def first_part(reader: Reader, args: Args) -> Value:
    """A path without its last component."""
    return Value([text.rpartition("/")[0] or "." if isinstance(text, str) else text for text in args.texts(0)])


def visited(reader: Reader, args: Args) -> None:
    """A function is called for everything below directories, as File::Find does."""
    paths: list[Text] = []
    for value in args.values[1:]:
        for top in value.texts:
            where = reader.process.here.where(top)
            view = reader.process.here.view
            found = [(path, kind) for path, kind in view.walk(where) if kind != DIRECTORY][:2000] if where is not None else []
            paths += [path for path, _ in found] or [join(top, "/", unknown("unknown-argument", "find()"))]
    reader.variables["_"] = reader.variables["File::Find::name"] = Value(paths)
    for value in args.values[:1]:
        for closure in (value.function, *(option.function for option in value.options.values())):
            if closure is not None:
                reader.call(closure, [])


def expanded(process: Process, pattern: Text) -> list[Text]:
    """The paths that a shell pattern, or several with blanks between them, match; a Pattern stays one."""
    from guard.tools.pathnames import matches

    if not isinstance(pattern, str):
        return [pattern]
    found: list[Text] = []
    for part in pattern.split():
        for word in braces(part):
            found += matches(process, word) if set(word) & set("*?[") else [word]
    return found


def braces(word: str, limit: int = 64) -> list[str]:
    """{a,b} spelled out."""
    start = word.find("{")
    end = word.find("}", start)
    if start < 0 or end < 0 or "," not in word[start:end] or limit <= 0:
        return [word]
    inner = word[start + 1 : end].split(",")
    return [each for part in inner for each in braces(word[:start] + part + word[end + 1 :], limit // len(inner))]


def table(*groups: tuple[str, Deed]) -> dict[str, Deed]:
    """A table of deeds from groups of names with the same one."""
    return {name: deed for names, deed in groups for name in names.split()}

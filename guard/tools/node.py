"""node, deno and bun: programs in JavaScript and TypeScript."""

from __future__ import annotations

from guard.effects import Analysis, Text
from guard.tools import script_deeds as deeds
from guard.tools.call import Call
from guard.tools.process import decode, passed
from guard.tools.script_reader import Args, Reader, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.script_reader import Deed

VALUES = frozenset(
    (
        "-r --require --import --loader --experimental-loader -C --conditions --env-file --title --stack-trace-limit --input-type"
    ).split()
)
EVALUATE = frozenset(["-e", "--eval", "-p", "--print", "-pe", "-ep"])
GLOBALS = {name: name for name in ("fs", "child_process", "path", "os", "process", "Deno", "Bun")}
ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", "/index.js")


def node(call: Call) -> Analysis:
    """node [OPTIONS] (-e CODE | FILE) [ARGUMENTS]"""
    words = list(call.argv[1:])
    while words and str(words[0]).startswith("-") and words[0] != "-":
        word = str(words.pop(0))
        name, equals, _ = word.partition("=")
        if name in EVALUATE:
            given: Text = word.partition("=")[2] if equals else words.pop(0) if words else ""
            return _follow(call, given, [*words], None, shows="p" in name.partition("--ev")[0])
        if word in ("-v", "--version", "-h", "--help", "-c", "--check"):
            return Analysis(status=0) if word not in ("-c", "--check") else Analysis()
        if word == "--":
            break
        if name in VALUES and not equals and words:
            words.pop(0)
    return _program(call, words)


def _program(call: Call, words: list[Text]) -> Analysis:
    """A program from a file, or from standard input."""
    if not words or words[0] == "-":
        return Analysis() if call.stdin is None else _follow(call, call.stdin, words[1:], None)
    path, *rest = words
    if isinstance(path, str):
        for ending in ENDINGS:
            source = call.read(path + ending)
            if source is not None:
                return _follow(call, decode(source), rest, path + ending) if b"\0" not in source else Analysis()
    return Analysis()


def deno(call: Call) -> Analysis:
    """deno eval CODE, deno run FILE, deno task NAME, deno fmt."""
    words = [word for word in call.argv[1:] if not str(word).startswith("-")]
    if words[:1] == ["fmt"]:
        from guard.tools.formatters import format_files

        return format_files(call)
    if len(words) > 1 and words[0] == "eval":
        return _follow(call, words[1], words[2:], None)
    if len(words) > 1 and words[0] == "run":
        return _program(call, words[1:])
    if len(words) > 1 and words[0] == "task":
        return passed(call.run(("npm", "run", *words[1:]), cwd=call.cwd, env=call.env))
    return _program(call, words) if words and str(words[0]).endswith((".ts", ".js", ".mjs")) else Analysis()


def _follow(call: Call, source: Text, argv: list[Text], path: str | None, shows: bool = False) -> Analysis:
    from guard.tools.script_tokens import NODE

    return deeds.follow(call, NODE, source, DEEDS, ["node", *([path] if path else []), *argv], path, GLOBALS, shows)


def _rm(reader: Reader, args: Args) -> None:
    """fs.rm and fs.rmSync: a directory only with `recursive`."""
    recursive = args.option("recursive")
    for path in args.texts(0):
        (reader.process.remove if recursive else reader.process.unlink)(path)
    _callbacks(reader, args)


def _rmdir(reader: Reader, args: Args) -> None:
    for path in args.texts(0):
        (reader.process.remove if args.option("recursive") else reader.process.rmdir)(path)
    _callbacks(reader, args)


def _callbacks(reader: Reader, args: Args) -> None:
    for value in args.values:
        if value.function is not None:
            reader.apply(value, Value())


def _then(deed: Deed) -> Deed:
    """A deed with a callback that is called afterwards."""

    def run(reader: Reader, args: Args) -> Value | None:
        result = deed(reader, args)
        _callbacks(reader, args)
        return result

    return run


def _write(reader: Reader, args: Args) -> None:
    flag = next((value.options["flag"].texts for value in args.values if "flag" in value.options), [""])
    (deeds.appended if str(flag[0] if flag else "").startswith("a") else deeds.written)(reader, args)
    _callbacks(reader, args)


def _cp(reader: Reader, args: Args) -> None:
    for source in args.texts(0):
        for goal in args.texts(1)[:1]:
            if reader.process.here.is_dir(source):
                reader.process.copytree(source, goal, merge=True)
            else:
                reader.process.copy(source, goal)


def _truncate(reader: Reader, args: Args) -> None:
    size = args.texts(1)
    for path in args.texts(0):
        reader.process.truncate(path, int(size[0]) if size and isinstance(size[0], str) and size[0].isdigit() else 0)


def _open(reader: Reader, args: Args) -> None:
    mode = str((args.texts(1) or ["r"])[0])
    for path in args.texts(0):
        if mode.startswith("w"):
            reader.process.write(path, b"")


def _stream(reader: Reader, args: Args) -> None:
    """fs.createWriteStream"""
    flags = next((value.options["flags"].texts for value in args.values if "flags" in value.options), ["w"])
    for path in args.texts(0):
        if str(flags[0] if flags else "w").startswith("w"):
            reader.process.write(path, None)


def _require(reader: Reader, args: Args) -> Value:
    names = args.texts(0)
    name = str(names[0]).removeprefix("node:") if names else ""
    return Value(module=MODULES.get(name, name.replace("/promises", "")))


def _same(reader: Reader, args: Args) -> Value:
    """What is made of a list and has the same items."""
    return args.values[0] if args.values else Value(whole=True, exact=True)


def _arguments(reader: Reader, args: Args) -> Value:
    return Value(reader.variables["argv"].texts)


def _empty(reader: Reader, args: Args) -> None:
    for path in args.texts(0):
        reader.process.empty(path)


def _shell_rm(reader: Reader, args: Args) -> None:
    """shelljs: rm("-rf", "x")"""
    for path in (text for text in args.all if not str(text).startswith("-")):
        for found in deeds.expanded(reader.process, path):
            reader.process.remove(found)


MODULES = {
    "fs-extra": "fs",
    "graceful-fs": "fs",
    "fs-extra/esm": "fs",
    "execa": "execa",
    "shelljs/global": "shelljs",
    "globby": "glob",
    "fast-glob": "glob",
    "tinyglobby": "glob",
    "del": "del",
}


def _both(names: str) -> str:
    """The names with their Sync form."""
    return " ".join(f"fs.{name} fs.{name}Sync" for name in names.split())


DEEDS = deeds.table(
    (_both("rm"), _rm),
    (_both("rmdir"), _rmdir),
    (_both("unlink"), _then(deeds.each("unlink", 0))),
    (
        _both("remove")
        + " rimraf rimraf.sync rimraf.rimraf rimraf.rimrafSync rimrafSync del del.sync del.deleteAsync del.deleteSync",
        deeds.removed,
    ),
    (_both("emptyDir emptydir"), _empty),
    (_both("rename move"), _then(deeds.pairs("rename"))),
    (_both("copyFile"), _then(deeds.pairs("copy"))),
    (_both("cp copy"), _then(_cp)),
    (_both("writeFile outputFile writeJson writeJSON outputJson"), _write),
    (_both("appendFile"), _then(deeds.appended)),
    (_both("readFile readJson"), deeds.content),
    (_both("truncate"), _truncate),
    (_both("open"), _open),
    ("fs.createWriteStream", _stream),
    (_both("symlink"), deeds.linked),
    (_both("link"), deeds.pairs("link")),
    (_both("mkdir ensureDir mkdirp"), _then(deeds.made)),
    (_both("readdir"), deeds.listed),
    (_both("glob") + " glob.sync glob.globSync glob.glob glob globSync", deeds.globbed),
    ("child_process.exec child_process.execSync", deeds.shelled_in),
    (
        "child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync "
        "execa execa.execa execa.execaSync",
        deeds.ran,
    ),
    ("execa.execaCommand execa.command execa.execaCommandSync shelljs.exec Bun.$ zx.$", deeds.shelled_in),
    ("shelljs.rm shelljs.del rm", _shell_rm),
    ("process.chdir shelljs.cd", deeds.changed),
    ("process.cwd shelljs.pwd Deno.cwd", deeds.directory),
    ("path.join path.resolve path.posix.join path.normalize URL", deeds.joined),
    ("path.basename", deeds.last_part),
    ("path.dirname", deeds.first_part),
    ("os.homedir", deeds.home),
    ("=process.env.* process.env.[] Deno.env.get", deeds.environment),
    ("require import", _require),
    ("Set Array.from Object.freeze Promise.all", _same),
    ("console.log console.info", deeds.printed("\n")),
    ("process.stdout.write", deeds.printed("", "")),
    ("=process.argv", _arguments),
    ("=Deno.args", _arguments),
    ("Deno.remove Deno.removeSync", _rm),
    ("Deno.writeTextFile Deno.writeTextFileSync Deno.writeFile Deno.writeFileSync Bun.write", deeds.written),
    ("Deno.rename Deno.renameSync", deeds.pairs("rename")),
    ("Deno.truncate Deno.truncateSync", _truncate),
    ("Deno.readTextFile Deno.readTextFileSync", deeds.content),
    ("Deno.chdir", deeds.changed),
)

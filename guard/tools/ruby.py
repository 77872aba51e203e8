"""ruby, php, lua, tclsh and osascript."""

from __future__ import annotations

from guard.effects import EDIT, TRUNCATE, Analysis, At, Effect, Text, join, unknown
from guard.overlay import FILE
from guard.tools import script_deeds as deeds
from guard.tools.call import Call
from guard.tools.process import decode
from guard.tools.script_reader import Args, Reader, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.tools.process import Process
    from guard.tools.script_reader import Deed
    from guard.tools.script_tokens import Language


def ruby(call: Call) -> Analysis:
    """ruby [-n|-p|-i] (-e CODE | FILE) [ARGUMENTS]"""
    from guard.tools.script_tokens import RUBY

    words, programs, letters = list(call.argv[1:]), [], ""
    while words and str(words[0]).startswith("-") and words[0] != "-":
        word = str(words.pop(0))
        if word in ("--version", "--help", "-v", "-h"):
            return Analysis(status=0)
        if not word.startswith("--") and word.endswith("e") and not word.startswith(("-r", "-I")):
            programs.append(words.pop(0) if words else "")
        elif word in ("-I", "-r", "-C", "-E") and words:
            words.pop(0)
        letters += "" if word.startswith(("--", "-r", "-I")) else word[1:]
    if not programs:
        return _script(call, words, RUBY, RUBY_DEEDS)
    program = programs[0]
    for each in programs[1:]:
        program = join(program, "\n", each)
    result = deeds.follow(call, RUBY, program, RUBY_DEEDS, words, None)
    if "i" not in letters:
        return result
    prints = "p" in letters or any(word in str(program) for word in ("print", "puts", "$_", "p "))
    return result._replace(effects=(*result.effects, *_in_place(call, words, prints)))


def _in_place(call: Call, words: list[Text], prints: bool) -> list[Effect]:
    targets = [call.through(word) for word in words]
    files = [target for target in targets if isinstance(target, At) and call.view.kind(target.path) == FILE]
    return [Effect(EDIT if prints else TRUNCATE, target) for target in files]


def php(call: Call) -> Analysis:
    """php (-r CODE | FILE) [ARGUMENTS]"""
    from guard.tools.script_tokens import PHP

    words = list(call.argv[1:])
    while words and str(words[0]).startswith("-") and words[0] != "-":
        word = str(words.pop(0))
        if word in ("-r", "--run", "-B", "-R", "-E"):
            return deeds.follow(call, PHP, words[0] if words else "", PHP_DEEDS, words[1:], None)
        if word in ("-d", "-c", "-z", "-S", "-t") and words:
            words.pop(0)
        if word in ("-f", "--file"):
            break
        if word in ("-l", "-v", "-m", "-i", "-h", "--version"):
            return Analysis()
    return _script(call, words, PHP, PHP_DEEDS)


def lua(call: Call) -> Analysis:
    """lua (-e CODE | FILE) [ARGUMENTS]"""
    from guard.tools.script_tokens import LUA

    words = list(call.argv[1:])
    while words and str(words[0]).startswith("-") and words[0] != "-":
        word = str(words.pop(0))
        if word.startswith("-e"):
            program: Text = word[2:] or (words[0] if words else "")
            return deeds.follow(call, LUA, program, LUA_DEEDS, words[1:], None)
        if word == "-l" and words:
            words.pop(0)
    return _script(call, words, LUA, LUA_DEEDS)


def tclsh(call: Call) -> Analysis:
    """tclsh: `file delete`, `file rename` and `exec` with plain words."""
    source = call.stdin if len(call.argv) < 2 else None
    if len(call.argv) > 1:
        data = call.read(call.argv[1])
        source = None if data is None else decode(data)
    if not isinstance(source, str):
        return Analysis()
    from guard.tools.process import Process

    process = Process(call, inline=len(call.argv) < 2)
    for line in source.replace(";", "\n").splitlines():
        words = [word.strip('{}"') for word in line.split()]
        if any(letter in line for letter in "$[#") or len(words) < 3:
            continue
        _tcl(process, words)
    return process.result()


def _tcl(process: Process, words: list[str]) -> None:
    operands = [word for word in words[2:] if word not in ("-force", "--")]
    if words[:2] == ["file", "delete"]:
        for path in operands:
            process.remove(path)
    elif words[:2] == ["file", "rename"] and len(operands) > 1:
        process.move(operands[0], operands[1])
    elif words[:2] == ["file", "copy"] and len(operands) > 1:
        process.copy(operands[0], operands[1])
    elif words[0] == "exec":
        process.run(tuple(words[1:]))


def osascript(call: Call) -> Analysis:
    """osascript: what its `do shell script "..."` runs."""
    import re

    texts = [call.argv[at + 1] for at, word in enumerate(call.argv[:-1]) if word == "-e"] or ([call.stdin] if call.stdin else [])
    for text in texts:
        for match in re.finditer(r'do shell script "((?:[^"\\]|\\.)*)"', str(text)):
            call.shell(re.sub(r"\\(.)", r"\1", match[1]), cwd=call.cwd, env=call.env)
    return Analysis()


def _script(call: Call, words: list[Text], language: Language, table: dict[str, Deed]) -> Analysis:
    """A program from a file, or from standard input."""
    if not words or words[0] == "-":
        return Analysis() if call.stdin is None else deeds.follow(call, language, call.stdin, table, words[1:], None)
    source = call.read(words[0])
    if source is None or b"\0" in source or not isinstance(words[0], str):
        return Analysis()
    return deeds.follow(call, language, decode(source), table, words[1:], words[0])


def _delete(reader: Reader, args: Args) -> None:
    for path in args.all:
        reader.process.unlink(path)


def _open(reader: Reader, args: Args) -> None:
    """File.open(path, mode), fopen(path, mode), io.open(path, mode)"""
    mode = str((args.texts(1) or ["r"])[0])
    for path in args.texts(0):
        if mode.startswith("w"):
            reader.process.write(path, None, reader.process.here.where(path) in reader.read)
        elif mode.startswith("a"):
            reader.process.append(path, None)


def _moved(reader: Reader, args: Args) -> None:
    for path in args.texts(0):
        for goal in args.texts(1)[:1]:
            reader.process.move(path, goal)


def _copied(reader: Reader, args: Args) -> None:
    for path in args.texts(0):
        for goal in args.texts(1)[:1]:
            if reader.process.here.is_dir(path):
                reader.process.copytree(path, reader.process.into(goal, path), merge=True)
            else:
                reader.process.copy(path, goal)


def _truncated(reader: Reader, args: Args) -> None:
    for path in args.texts(0):
        reader.process.truncate(path, None)


def _same(reader: Reader, args: Args) -> Value:
    return Value(args.texts(0))


def _expanded(reader: Reader, args: Args) -> Value:
    """File.expand_path PATH [DIRECTORY]: "~" is the user's home."""
    home = reader.process.env.get("HOME", unknown("unknown-variable", "HOME"))
    paths: list[Text] = [
        join(home, path[1:]) if isinstance(path, str) and (path == "~" or path.startswith("~/")) else path
        for path in args.texts(0)
    ]
    above = args.texts(1)[:1]
    return Value([join(*above, "/", path) if above and not str(path).startswith("/") else path for path in paths])


def _lua_remove(reader: Reader, args: Args) -> None:
    for path in args.texts(0):
        if reader.process.unlink(path) is False:
            reader.process.rmdir(path)


def _applied(reader: Reader, args: Args) -> None:
    """array_map("unlink", LIST)"""
    for text in args.texts(0):
        reader.named(str(text), Args(args.values[1:]))


RUBY_DEEDS = deeds.table(
    (
        "FileUtils.rm_rf FileUtils.rm_r FileUtils.rmtree FileUtils.remove_dir "
        "FileUtils.remove_entry FileUtils.remove_entry_secure rm_rf rm_r",
        deeds.removed,
    ),
    ("FileUtils.rm FileUtils.rm_f FileUtils.remove FileUtils.safe_unlink rm rm_f", _delete),
    ("File.delete File.unlink", _delete),
    ("Dir.rmdir Dir.delete Dir.unlink FileUtils.rmdir", deeds.each("rmdir")),
    ("FileUtils.mv FileUtils.move mv", _moved),
    ("FileUtils.cp FileUtils.cp_r FileUtils.copy FileUtils.install FileUtils.copy_file cp cp_r", _copied),
    ("File.rename", deeds.pairs("rename")),
    ("File.write IO.write File.binwrite IO.binwrite", deeds.written),
    ("File.read IO.read File.readlines File.binread", deeds.content),
    ("File.open File.new open", _open),
    ("File.truncate", _truncated),
    ("File.symlink FileUtils.ln_s FileUtils.symlink", deeds.linked),
    ("File.link FileUtils.ln", deeds.pairs("link")),
    ("FileUtils.mkdir_p Dir.mkdir FileUtils.mkdir FileUtils.makedirs", deeds.made),
    ("Dir.glob Dir.[] Pathname.glob", deeds.globbed),
    ("Dir.children Dir.entries Dir.each_child", deeds.listed),
    ("Dir.chdir FileUtils.cd FileUtils.chdir", deeds.changed),
    ("Dir.pwd Dir.getwd", deeds.directory),
    ("=Dir.pwd", deeds.directory),
    ("=Dir.home", deeds.home),
    ("ENV.[] ENV.fetch", deeds.environment),
    ("File.join", deeds.joined),
    ("File.expand_path", _expanded),
    ("File.absolute_path Pathname Pathname.new Array", _same),
    ("File.basename", deeds.last_part),
    ("File.dirname", deeds.first_part),
    ("system exec spawn Kernel.system Kernel.exec IO.popen Open3.capture2 Open3.capture3 Process.spawn sh", deeds.shelled),
    ("puts", deeds.printed("\n", "\n")),
    ("print", deeds.printed("", "")),
    ("p require require_relative", deeds.nothing),
    (".delete .unlink .rmtree .rm_rf", lambda reader, args: deeds.each("remove", 0)(reader, args)),
    (".write", deeds.written),
    (".read", deeds.content),
    (".children .each_child", deeds.listed_whole),
    (".join", lambda reader, args: deeds.joined(reader, args)),
)

PHP_DEEDS = deeds.table(
    ("getenv", deeds.environment),
    ("unlink", deeds.each("unlink", 0)),
    ("rmdir", deeds.each("rmdir", 0)),
    ("rename", deeds.pairs("rename")),
    ("copy", deeds.pairs("copy")),
    ("file_put_contents", deeds.written),
    ("file_get_contents file", deeds.content),
    ("fopen", _open),
    ("ftruncate", deeds.nothing),
    ("symlink", deeds.linked),
    ("link", deeds.pairs("link")),
    ("mkdir", deeds.made),
    ("system exec shell_exec passthru proc_open popen", lambda reader, args: reader.shell(args.texts(0))),
    ("glob", deeds.globbed),
    ("scandir", deeds.listed),
    ("chdir", deeds.changed),
    ("getcwd", deeds.directory),
    ("basename", deeds.last_part),
    ("dirname", deeds.first_part),
    ("array_map array_walk", _applied),
    ("echo print", deeds.printed("", "")),
    ("var_dump realpath", _same),
)

LUA_DEEDS = deeds.table(
    ("os.getenv", deeds.environment),
    ("os.remove", _lua_remove),
    ("os.rename", deeds.pairs("rename")),
    ("os.execute io.popen", lambda reader, args: reader.shell(args.texts(0))),
    ("io.open io.output", _open),
    ("print", deeds.printed("\n", "\t")),
    ("io.write", deeds.printed("", "")),
    ("ipairs pairs", deeds.nothing),
)

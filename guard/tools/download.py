"""Downloads: curl, wget, aria2c and http over files that are there. Nothing is ever fetched to find out."""

from __future__ import annotations

from guard.effects import EDIT, OVERWRITE, At, Hole, Pattern, Text, join, unknown
from guard.overlay import FILE
from guard.tools.changes import Changes
from guard.tools.options import Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guard.effects import Analysis
    from guard.tools.call import Call
    from guard.tools.options import Options

CURL_VALUES = (
    "abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout connect-to "
    "continue-at cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary data-raw data-urlencode "
    "delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-header ech egd-file engine etag-compare "
    "etag-save expect100-timeout form form-string ftp-account ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode "
    "happy-eyeballs-timeout-ms haproxy-clientip header hostpubmd5 hostpubsha256 hsts interface ipfs-gateway json "
    "keepalive-time keepalive-cnt key key-type krb libcurl limit-rate local-port login-options mail-auth mail-from "
    "mail-rcpt max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max pass "
    "pinnedpubkey preproxy proto proto-default proto-redir proxy proxy-cacert proxy-capath proxy-cert proxy-cert-type "
    "proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass proxy-pinnedpubkey proxy-service-name "
    "proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user proxy1.0 pubkey quote random-file "
    "range rate referer request request-target resolve retry retry-delay retry-max-time sasl-authzid service-name socks4 "
    "socks4a socks5 socks5-gssapi-service socks5-hostname speed-limit speed-time stderr telnet-option tftp-blksize "
    "time-cond tls-max tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii trace-config unix-socket upload-file "
    "url url-query user user-agent variable vlan-priority write-out"
).split()
CURL_FLAGS = (
    "remote-name remote-name-all remote-header-name no-clobber create-dirs silent show-error location fail fail-with-body "
    "head include insecure verbose next get compressed http2 http1.1 parallel progress-bar remove-on-error skip-existing "
    "globoff help version manual"
).split()
CURL = Table(
    flags="#:0123469BGIJLMNORSZafgijklnpqsv",
    values="ACDEFHKPQTUXYbcdehmortuwxyz",
    long={**dict.fromkeys(CURL_VALUES, "="), **dict.fromkeys(CURL_FLAGS, "")},
    same={
        "output": "o", "remote-name": "O", "remote-header-name": "J", "dump-header": "D", "cookie-jar": "c",
        "continue-at": "C",
        "config": "K", "next": ":",
    },
)  # fmt: skip
WGET_VALUES = (
    "append-output execute input-file base config rejected-log bind-address tries output-document start-pos timeout "
    "dns-timeout connect-timeout read-timeout limit-rate wait waitretry quota restrict-file-names user password "
    "directory-prefix cut-dirs default-page http-user http-password proxy-user proxy-password referer save-headers-to "
    "user-agent load-cookies save-cookies header post-data post-file method body-data body-file output-file level accept "
    "reject accept-regex reject-regex regex-type domains exclude-domains follow-tags ignore-tags include-directories "
    "exclude-directories progress local-encoding remote-encoding secure-protocol certificate ca-certificate ca-directory "
    "crl-file private-key egd-file ftp-user ftp-password warc-file max-redirect retry-on-http-error hsts-file "
    "preferred-location compression report-speed"
).split()
WGET_FLAGS = (
    "continue no-clobber recursive mirror page-requisites timestamping quiet verbose no-verbose spider no-directories "
    "force-directories no-host-directories content-disposition background debug help version delete-after convert-links "
    "no-check-certificate show-progress span-hosts no-parent no-cache backups"
).split()
WGET = Table(
    flags="VhbdqvFcSx46rkKpHLENm",
    values="oaieBtOTwQPUlARDIXn",
    long={**dict.fromkeys(WGET_VALUES, "="), **dict.fromkeys(WGET_FLAGS, "")},
    same={
        "output-document": "O", "directory-prefix": "P", "output-file": "o", "append-output": "a", "recursive": "r",
        "mirror": "m",
        "page-requisites": "p", "timestamping": "N", "continue": "c", "help": "h", "version": "V",
    },
)  # fmt: skip


def curl(call: Call) -> Analysis:
    """curl: -o, -O and the files that other options write. https://curl.se/docs/manpage.html"""
    changes = Changes(call)
    words = [*call.argv[1:], *_configured(changes, call)]
    options = parse(words, CURL)
    if options.has("help", "version", "manual"):
        return changes.result(unknown("unknown-output", "curl"))
    for operand in options.values("D", "c", "trace", "trace-ascii", "stderr", "etag-save", "libcurl"):
        if operand not in ("-", "%"):
            changes.write(changes.opened(operand))
    urls = [*options.values("url"), *options.operands]
    named = [value for name, value in options.given if name in ("o", "O")]
    kinds = [name for name, _ in options.given if name in ("o", "O")]
    if options.has("remote-name-all"):
        kinds += ["O"] * (len(urls) - len(kinds))
        named += [""] * (len(urls) - len(named))
    for i, (kind, value) in enumerate(zip(kinds, named, strict=True)):
        url = urls[i] if i < len(urls) else None
        if kind == "O":
            if url is not None and not options.has("J"):  # with -J curl does not overwrite
                _fetched(changes, _remote_name(url), url, options)
        elif value != "-" and urls:
            _fetched(changes, value, url, options)
    return changes.result(unknown("unknown-output", "curl"))._replace(status=None)


def _configured(changes: Changes, call: Call) -> list[Text]:
    """The options of a configuration file, one a line."""
    options = parse(call.argv[1:], CURL)
    words: list[Text] = []
    for operand in options.values("K"):
        text = changes.call.read(operand) if operand != "-" else None
        for line in (text or b"").decode("utf-8", "surrogateescape").splitlines():
            name, _, value = line.strip().replace("=", " ", 1).partition(" ")
            if name and not name.startswith("#"):
                words.append(name if name.startswith("-") else "--" + name)
                words += [value.strip().strip('"')] if value.strip() else []
    return words


def _fetched(changes: Changes, name: Text, url: Text | None, options: Options) -> None:
    directory = options.value("output-dir")
    if isinstance(name, str) and "#" in name and isinstance(url, str) and set(url) & set("[{"):
        start = name.partition("#")[0]
        name = Pattern((*((start,) if start else ()), Hole("unknown-argument", name[len(start) :])))
    target = changes.opened(name if directory is None else join(directory, "/", name))
    if options.has("no-clobber", "skip-existing") or name == "":
        return
    content = origin = None
    if isinstance(url, str) and url.startswith("file://"):
        path = changes.call.where(url[len("file://") :])
        if path is None or changes.view.kind(path) != FILE:
            return
        content, origin = changes.arriving(path)
    changes.write(target, content, origin, action=EDIT if options.has("C") else OVERWRITE)


def _remote_name(url: Text) -> Text:
    """The last part of an address, without its query."""
    if isinstance(url, Pattern):
        base = url.suffix.rpartition("/")[2] if "/" in url.suffix else ""
        return base or Pattern((url.holes[-1], url.suffix) if url.suffix else (url.holes[-1],))
    path = url.partition("://")[2] or url
    return path.partition("?")[0].partition("#")[0].partition("/")[2].rpartition("/")[2]


def wget(call: Call) -> Analysis:
    """wget: -O empties its file first; other names are not overwritten unless asked. https://www.gnu.org/software/wget/manual/"""
    changes = Changes(call)
    options = parse(call.argv[1:], WGET)
    if options.has("h", "V"):
        return changes.result(unknown("unknown-output", "wget"))
    for operand in options.values("o", "save-cookies", "warc-file", "rejected-log"):
        changes.write(changes.opened(operand))
    for operand in options.values("a"):
        changes.write(changes.opened(operand), action=EDIT)
    place = options.value("O")
    careful = options.has("spider", "no-clobber") or "c" in options.values("n")
    if place is not None and not options.has("spider"):
        if place != "-" and not (careful and changes.call.exists(place)):
            changes.write(changes.opened(place), action=EDIT if options.has("c") else OVERWRITE)
    elif options.has("r", "m", "p"):
        if not careful:
            top = options.value("P")
            changes.add(OVERWRITE, changes.call.somewhere(top if top is not None else "."), certain=False)
    elif options.has("N", "c") and not careful:
        for url in options.operands:
            name = _remote_name(url) or "index.html"
            top = options.value("P")
            target = changes.opened(name if top is None else join(top, "/", name))
            if not isinstance(target, At) or changes.kind(target) is not None:
                changes.write(target, certain=False, action=EDIT if options.has("c") else OVERWRITE)
    return changes.result(unknown("unknown-output", "wget"))._replace(status=None)


def aria2c(call: Call) -> Analysis:
    """aria2c: overwrites only with --allow-overwrite=true."""
    changes = Changes(call)
    table = Table(
        values="doijkmstxlSTOMGPuUpV", long={"dir": "=", "out": "=", "allow-overwrite": "?"}, same={"dir": "d", "out": "o"}
    )
    options = parse(call.argv[1:], table)
    if options.value("allow-overwrite") not in (None, "false"):
        top = options.value("d")
        for url in options.operands:
            name = options.value("o") or _remote_name(url)
            changes.write(changes.opened(name if top is None else join(top, "/", name)))
    return changes.result()._replace(status=None)


def http(call: Call) -> Analysis:
    """http and https of HTTPie: -o FILE, and -d for a name that the server may choose."""
    changes = Changes(call)
    options = parse(
        call.argv[1:], Table(flags="jfhbvdcIFS", values="opsPa", long={"output": "=", "download": ""}, same={"output": "o"})
    )
    place = options.value("o")
    if place is not None:
        changes.write(changes.opened(place))
    return changes.result(unknown("unknown-output", "http"))._replace(status=None)

"""Programs that read, write, move and remove the files they are given."""

from __future__ import annotations

from toolcrib_shell.words import Word, plain

from .base import Args, Look, Program


__all__ = ["FILES", "reader"]

_STDIN = "-"
# Long options by name, short ones by letter.
_Options = tuple[tuple[str, ...], str]
_NONE: _Options = ((), "")


def reader(
    *,
    valued: str = "",
    long_valued: tuple[str, ...] = (),
    runs: _Options = _NONE,
    writes: _Options = _NONE,
    skip: int = 0,
    default: str | None = None,
    walks: _Options | None = _NONE,
) -> Program:
    """Describe a program that reads its operands.

    Args:
        valued: Short options that take a value.
        long_valued: Long options that take one as a word of its own.
        runs: Long and short options that run something.
        writes: Long and short options that write a file.
        skip: How many operands come before the files.
        default: What is read without operands.
        walks: Long and short options with which it walks folders; None: it always does.
    """

    def look(args: Args, at: Look) -> None:
        risky = runs[0] + writes[0] or runs[1] + writes[1]
        if risky and args.loose:
            at.doubt(f"{args.program}: a word whose value is not known may be an option")
            return
        if args.has(long=runs[0], short=runs[1]):
            at.doubt(f"{args.program} is given an option that runs something")
        if args.has(long=writes[0], short=writes[1]):
            at.touched.writes.add(None)
        tree = _walks(args, walks)
        files = args.operands(valued, long_valued)[skip:]
        for word in files:
            if not (word.known and word.text == _STDIN):
                at.touched.read(word, tree=tree)
        if not files and (default is not None or tree):
            at.touched.read(plain(default or "."), tree=tree)

    return look


def _walks(args: Args, options: _Options | None) -> bool:
    """Tell whether a program walks the folders that it is given, or may do."""
    if options is None:
        return True
    long, short = options
    return args.has(long=long, short=short) or (options != _NONE and args.loose)


def _writer(
    valued: str = "",
    long_valued: tuple[str, ...] = (),
    skip: int = 0,
    walks: _Options | None = _NONE,
) -> Program:
    def look(args: Args, at: Look) -> None:
        tree = _walks(args, walks)
        for word in args.operands(valued, long_valued)[skip:]:
            at.touched.write(word, tree=tree)

    return look


def _copy(args: Args, at: Look) -> None:
    """``cp``, ``mv``, ``ln``, ``install``: the last one is written."""
    if args.has(long=("target-directory", "suffix", "strip-program"), short="tS"):
        at.touched.writes.add(None)
    if args.has(long=("strip-program",)):
        at.doubt(f"{args.program} is given a program to run")
    files = args.operands("gmotS")
    # What moves takes along all that is below it.
    tree = args.program == "mv" or _walks(args, (("recursive", "archive"), "rRa"))
    for word in files[:-1]:
        (at.touched.write if args.program == "mv" else at.touched.read)(word, tree=tree)
    for word in files[-1:]:
        at.touched.write(word)
        for source in files[:-1]:
            # The target may be a folder; the name in it may be one that gives orders.
            name = source.lead.rstrip("/").rpartition("/")[2]
            if source.known and word.known and name:
                at.touched.write(Word(f"{word.text}/{name}", lead=word.lead, tilde=word.tilde))


def _dd(args: Args, at: Look) -> None:
    for word in args:
        name, _, value = word.text.partition("=")
        if not word.known:
            at.touched.writes.add(None)
        elif name == "of":
            at.touched.write(plain(value))
        elif name == "if":
            at.touched.read(plain(value))


def _uniq(args: Args, at: Look) -> None:
    files = args.operands("fsw")
    for word in files[:1]:
        at.touched.read(word)
    for word in files[1:]:
        at.touched.write(word)
    if any(word.many for word in files):
        at.touched.writes.add(None)


def _anywhere(args: Args, at: Look) -> None:
    at.touched.writes.add(None)


def _split(args: Args, at: Look) -> None:
    at.touched.writes.add(None)
    if args.has(long=("filter",)):
        at.doubt("split is given a program to run")


def _tar(args: Args, at: Look) -> None:
    programs = (
        "checkpoint-action", "to-command", "use-compress-program", "rsh-command", "info-script",
        "new-volume-script", "rmt-command",
    )  # fmt: skip
    if args.loose or args.has(long=programs, short="IF"):
        at.doubt("tar is given an option that runs something, or may be")
    first = args.words[0] if args.words else plain("")
    lists = (first.known and first.text.lstrip("-")[:1] == "t") or args.has(long=("list",))
    for word in args.operands("fCTX"):
        if word is not first and word.known:
            at.touched.read(word, tree=True)
    if not lists:
        at.touched.writes.add(None)


def _curl(args: Args, at: Look) -> None:
    sends = (
        "data", "data-raw", "data-binary", "data-urlencode", "form", "form-string", "json",
        "request", "upload-file", "header", "cookie", "user", "url-query", "mail-from", "quote",
        "referer", "user-agent", "proxy", "config", "netrc", "netrc-file", "resolve",
        "connect-to", "unix-socket", "abstract-unix-socket",
    )  # fmt: skip
    saves = (
        "output", "remote-name", "remote-name-all", "output-dir", "dump-header", "cookie-jar",
        "trace", "trace-ascii", "stderr", "etag-save", "hsts", "alt-svc", "libcurl",
        "remote-header-name", "output-document", "input-file", "append-output",
    )  # fmt: skip
    opens = ("config", "unix-socket", "abstract-unix-socket", "connect-to", "use-askpass",
             "execute", "engine", "preproxy", "rcfile")  # fmt: skip
    wget = args.program == "wget"
    if args.loose or args.has(long=opens, short="e" if wget else "K"):
        at.doubt(f"{args.program} is given an option that changes what it does, or may be")
    if wget or args.has(long=saves, short="oOJDc"):
        at.touched.writes.add(None)
    written = args.has(long=sends, short="dFTXHbuUAQxneE") or args.has(
        long=("post-data", "post-file", "method", "body-data", "body-file")
    )
    if args.has(long=sends, short="dFT") and any("@" in w.text for w in args):
        at.touched.reads.add(None)
    hosts = [_host(word) for word in args if word.known and _looks_like_url(word.text)]
    for host in hosts or [None]:
        at.touched.hosts.add((host, False))
        if written:
            at.touched.hosts.add((host, True))
    if any(not word.known for word in args):
        at.touched.hosts.add((None, written))
    if args.has(long=("location", "location-trusted"), short="L") or wget:
        at.touched.hosts.add((None, False))


def _looks_like_url(text: str) -> bool:
    return not text.startswith("-") and ("://" in text or "." in text or ":" in text)


def _host(word: Word) -> str | None:
    rest = word.text.partition("://")[2] or word.text
    name = rest.partition("/")[0].rpartition("@")[2]
    name = name.partition("?")[0].partition("#")[0]
    host = name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() else name
    return host if host and not set(host) & set("{}[]*\\") else None


_PLAIN_READERS = (
    "b2sum base32 base64 cat cksum cmp comm cut df diff diff3 du egrep expand fgrep file fold"
    " fmt grep head hexdump iconv join ls dir vdir md5sum nl od paste pr readlink realpath rev"
    " sha1sum sha224sum sha256sum sha384sum sha512sum size stat strings sum tac tail tsort"
    " unexpand wc zcat zgrep bzcat xzcat zstdcat jq"
)
_RECURSIVE = (("recursive",), "R")
_GREPS = ("grep", "egrep", "fgrep", "zgrep", "jq")

FILES: dict[str, Program] = {
    **{name: reader(valued="ncdfbtswNjkmAB") for name in _PLAIN_READERS.split()},
    **{
        name: reader(
            valued="efmABCdD", skip=1,
            walks=(("recursive", "dereference-recursive", "directories"), "rRd"),
        )
        for name in _GREPS
    },
    "ls": reader(valued="IwT", default=".", walks=_RECURSIVE),
    "dir": reader(valued="IwT", default=".", walks=_RECURSIVE),
    "diff": reader(valued="ncdfbtswNjkmAB", walks=(("recursive",), "r")),
    "du": reader(valued="dBt", default=".", walks=None),
    "file": reader(valued="mfFeP", writes=(("compile",), "C")),
    "rg": reader(
        valued="ABCMgtTjmdrfE", skip=1, default=".",
        runs=(("pre", "hostname-bin", "search-zip"), "z"), walks=None,
    ),
    "ag": reader(skip=1, default=".", runs=(("pager",), ""), walks=None),
    "fd": reader(skip=1, default=".", runs=(("exec", "exec-batch"), "xX"), walks=None),
    "tree": reader(valued="LPIo", writes=(("output",), "o"), default=".", walks=None),
    "sort": reader(
        valued="ktSTo", runs=(("compress-program",), ""), writes=(("output",), "o")
    ),
    "xxd": reader(writes=((), "r")),
    "uniq": _uniq,
    "tee": _writer(),
    "touch": _writer("drt", ("date", "reference")),
    "mkdir": _writer("m", ("mode",)),
    "rmdir": _writer(),
    "rm": _writer(walks=(("recursive",), "rR")),
    "unlink": _writer(),
    "truncate": _writer("sr"),
    "shred": _writer("ns"),
    "mkfifo": _writer("m"),
    "mktemp": _anywhere,
    "chmod": _writer(skip=1, walks=_RECURSIVE),
    "chown": _writer(skip=1, walks=_RECURSIVE),
    "chgrp": _writer(skip=1, walks=_RECURSIVE),
    "cp": _copy,
    "mv": _copy,
    "ln": _copy,
    "link": _copy,
    "install": _copy,
    "dd": _dd,
    "tar": _tar,
    "bsdtar": _tar,
    "unzip": _anywhere,
    "gzip": _writer("S", walks=(("recursive",), "r")),
    "gunzip": _writer("S", walks=(("recursive",), "r")),
    "bzip2": _writer(),
    "xz": _writer("TF"),
    "patch": _anywhere,
    "split": _split,
    "csplit": _anywhere,
    "curl": _curl,
    "wget": _curl,
}  # fmt: skip

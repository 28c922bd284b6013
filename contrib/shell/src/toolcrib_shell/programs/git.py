"""Git: most of it is plain, but options, configuration and a few commands run programs."""

from __future__ import annotations

from toolcrib_shell.words import plain

from .base import Args, Look


__all__ = ["git"]

_GLOBAL = frozenset({
    "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs",
    "--noglob-pathspecs", "--icase-pathspecs", "--no-replace-objects", "--no-advice",
})  # fmt: skip
_PLAIN = frozenset({
    "add", "am", "apply", "blame", "branch", "cat-file", "check-ignore", "checkout", "cherry",
    "cherry-pick", "clean", "commit", "count-objects", "describe", "diff", "diff-files",
    "diff-index", "diff-tree", "for-each-ref", "fsck", "gc", "grep", "init", "log", "ls-files",
    "ls-tree", "merge", "merge-base", "merge-tree", "mv", "name-rev", "notes", "prune", "push",
    "range-diff", "rebase", "reflog", "reset", "restore", "rev-list", "rev-parse", "revert",
    "rm", "shortlog", "show", "show-branch", "show-ref", "stash", "status", "switch",
    "symbolic-ref", "tag", "update-index", "update-ref", "version", "verify-commit",
    "whatchanged", "worktree", "write-tree",
})  # fmt: skip
_NETWORK = frozenset({"clone", "fetch", "ls-remote", "pull", "push", "remote"})
# Options that name a program, a configuration or a file to write, on any command.
_LONG = (
    "exec", "ext-diff", "textconv", "open-files-in-pager", "upload-pack", "receive-pack",
    "config", "template", "paginate", "exec-path", "config-env", "edit-description", "tool",
    "extcmd", "strategy", "strategy-option", "trailer", "interactive", "filter", "signed-push",
    "gpg-sign", "edit", "patch-with-raw-program", "git-dir", "work-tree", "super-prefix",
    "namespace", "recurse-submodules", "no-index", "contents", "filters",
)  # fmt: skip
_WRITES = ("output", "output-directory", "separate-git-dir")
_SHORT = {
    "archive": "o", "clone": "uc", "format-patch": "o", "grep": "O", "ls-remote": "",
    "rebase": "xis", "merge": "sX", "pull": "sX", "cherry-pick": "sX", "revert": "s",
    "log": "", "difftool": "x",
}  # fmt: skip
_READS_CONFIG = ("--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list")


def git(args: Args, at: Look) -> None:
    """Look into a command of git."""
    words = list(args.words)
    while words and words[0].lead.startswith("-"):
        text = words[0].text
        if words[0].known and text == "-C" and len(words) > 1:
            at.touched.read(words[1])
            words = words[2:]
        elif words[0].known and text in _GLOBAL:
            words = words[1:]
        elif words[0].known and text in {"--version", "--help", "-v", "-h"} and len(words) == 1:
            return
        else:
            at.doubt(f"git: its option {text} may run something")
            return
    if not words:
        return
    if not words[0].known:
        at.doubt("which command of git it is is not known")
        return
    name = words[0].text
    rest = Args(f"git {name}", tuple(words[1:]))
    if name == "config":
        if not rest.words or rest.words[0].text not in _READS_CONFIG or rest.loose:
            at.doubt("git config may set a program that git runs later")
        return
    if name not in _PLAIN | _NETWORK:
        at.doubt(f"what git {name} runs is not known")
        return
    _options(name, rest, at)


def _options(name: str, args: Args, at: Look) -> None:
    if args.loose:
        at.doubt(f"{args.program}: a word whose value is not known may be an option")
    if args.has(long=_LONG, short=_SHORT.get(name, "")):
        at.doubt(f"{args.program} is given an option that may run something")
    if args.has(long=_WRITES) or name == "clone":
        at.touched.writes.add(None)
    first = next((w.text for w in args if w.known and not w.text.startswith("-")), "")
    if name == "worktree" and first not in {"list", ""}:
        at.touched.writes.add(None)
    if name == "grep":
        at.touched.read(plain("."), tree=True)
    if name == "diff" and any(w.known and w.text.startswith("/") for w in args):
        at.touched.reads.add(None)
    if name in _NETWORK:
        _reach(name, first, args, at)


def _reach(name: str, first: str, args: Args, at: Look) -> None:
    if any("::" in word.text or not word.known for word in args):
        at.doubt(f"{args.program}: the other side may be a program")
    if name == "remote":
        if first not in {"", "show", "get-url"}:
            at.doubt("git remote may set where, and how, git reaches another side")
        if first != "show":
            return
    at.touched.hosts.add((None, False))
    if name == "push":
        at.touched.hosts.add((None, True))

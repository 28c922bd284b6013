"""Rules for commands: the classes of bypass that were reported of others."""

from __future__ import annotations

import pytest

from toolcrib import resources
from toolcrib.signature import Signature


def run(judged, words, *rules):
    """Judge one plain command; a line of several is several commands of one call."""
    lines = words if isinstance(words, list) else [words]
    return judged(Signature(writes=[resources.Command(line) for line in lines]), *rules)


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git status *", "git status", True),
        ("git status *", "git status -s a", True),
        ("git add *", "git addx", False),
        ("git commit *", "git committed", False),
        ("git -C * status", "git -C d status", True),
        ("git -C * status", "git -C d x status", False),
        ("npm run test* *", "npm run test:unit --x", True),
        ("git status", "/tmp/git status", False),
        ("git *", "./git status", False),
        ("git status *", "X=1 git status", False),
        ("X=1 git status *", "X=1 git status", True),
        ("X=1 git status *", "X=2 git status", False),
        ("git *", "GIT status", False),
        ("echo '*'", "echo '*'", True),
        ("echo '*'", "echo b", False),
        ("echo \\*", "echo b", False),
        ("git log *", "timeout 5 git log", False),
        ("./gradlew *", "./gradlew build", True),
        ("./gradlew *", "gradlew build", False),
    ],
)
def test_an_allow_fits_the_very_words(pattern, command, fits, judged):
    """Another program, variable, wrapper or word more is not what was allowed."""
    answer = run(judged, command, f'allow files.*(command="{pattern}")')
    assert (answer == "run") is fits


PUSH = [
    "git push",
    "git push origin main",
    "git  push",
    "/usr/bin/git push",
    "GIT push",
    "git.exe push",
    "git -C d push",
    "git -c a=b push",
    "git --git-dir=x push",
    "CI=true git push",
    "timeout 5 git push",
    "timeout -s KILL 5 git push",
    "nohup git push",
    "nice -n 10 git push",
    "env A=1 B=2 git push",
    "env -i A=1 git push",
    "sudo -u me git push",
    "nohup timeout 5 env A=1 git push",
    "xargs -n 1 git push",
    "find . -exec git push {} +",
    "find . -name x -execdir /bin/git push ;",
    "command git push",
    "g''it push",
    'git "push"',
    "stdbuf -oL git push",
    "busybox git push",
]


@pytest.mark.parametrize("command", PUSH)
def test_a_deny_sees_every_form_of_a_command(command, judged):
    """Paths, wrappers, variables, options, quotes: it is the same command."""
    words = command if '"' in command or "'" in command else command.split()
    found = Signature(writes=[resources.Command(words)])
    rules = ["allow *", "deny files.*(command=git push *)"]
    assert judged(found, *rules, mode="trust") == "rule.denied"
    assert judged(found, "allow *", "ask files.*(command=git push *)", mode="trust") == "ask"


@pytest.mark.parametrize(
    "wrapper",
    ["gtimeout 5", "nsenter -t 1 -m", "runuser -u me --", "pkexec", "bwrap --ro-bind / /",
     "fakeroot", "faketime yesterday", "rlwrap", "numactl -N 0", "valgrind -q", "gdb --args",
     "perf stat", "uv run", "poetry run", "docker exec box", "podman run -i image",
     "kubectl exec pod --", "start-stop-daemon --start --exec", "dbus-run-session --"],
)  # fmt: skip
def test_a_deny_sees_a_command_behind_every_known_wrapper(wrapper, judged):
    """Also those of other systems, of containers and of debuggers."""
    found = Signature(writes=[resources.Command([*wrapper.split(), "git", "push"])])
    rules = ["allow *", "deny files.*(command=git push *)"]
    assert judged(found, *rules, mode="trust") == "rule.denied"


@pytest.mark.parametrize(
    "command",
    ["git log", "git status push", "git log --grep pushing", "echo git push", "gitx push",
     "git commit -m 'git push'", "grep -r 'git push' ."],
)  # fmt: skip
def test_a_deny_does_not_see_what_is_not_there(command, judged):
    """Text that only mentions a command is no command."""
    rules = ["allow *", "deny files.*(command=git push *)"]
    assert run(judged, command, *rules) == "run"


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "git push"],
        ["bash", "-lc", "cd d && git push origin"],
        ["bash", "-c", "git status; git push"],
        ["sh", "-c", "echo $(git push)"],
        ["sh", "-c", "git log | xargs git push"],
        ["sh", "-c", "if true; then git push; fi"],
        ["sh", "-c", "echo 'open; git push"],
        ["sh", "-c", "git log\ngit push"],
        ["eval", "git push"],
        ["eval", "git", "push"],
        ["sudo", "sh", "-c", "git push"],
        ["ssh", "host", "git push"],
        ["su", "me", "-c", "git push"],
        ["git", "push", "-m", "a\nb"],
        ["timeout", "5", "sh", "-c", "sh -c 'git push'"],
        ["cmd", "/c", "git push"],
        ["pwsh", "-NoProfile", "-Command", "git push"],
        ["runuser", "-u", "me", "-c", "git push"],
        ["sg", "staff", "git push"],
        ["tmux", "new", "git push"],
    ],
)
def test_a_deny_sees_what_a_shell_is_told(words, judged):
    """However deep it is wrapped, and over several lines."""
    call = Signature(writes=[resources.Command(words)])
    rules = ["allow *", "deny files.*(command=git push *)"]
    assert judged(call, *rules, mode="trust") == "rule.denied"


@pytest.mark.parametrize(
    "command",
    ["rm -rf x", "rm -fr x", "rm -r -f x", "rm --recursive --force x", "rm --recur -f x",
     "rm -v -rf x", "rm x -rf", "rm -rf -- x", "/bin/rm -rf x", "r''m -rf x", "rm -Rf x",
     "rm '-rf' x"],
)  # fmt: skip
def test_a_deny_of_options_sees_every_spelling(command, judged):
    """Swapped, split, long, shortened, late: options are a set."""
    rules = ["allow *", "deny files.*(command=rm -rf *)"]
    assert run(judged, command, *rules) == "rule.denied"


@pytest.mark.parametrize("command", ["rm x", "rm -r x", "rm -f x", "rm -- -rf", "ls -rf x"])
def test_a_deny_of_options_needs_all_of_them(command, judged):
    """One of two is another command."""
    assert run(judged, command, "allow *", "deny files.*(command=rm -rf *)") == "run"


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ("git push --force", "git push -f"),
        ("git push --force *", "git push origin --forc"),
        ("git push -f *", "git push origin --force"),
        ("find * -delete", "find . -delete"),
        ("find *", "find -name x"),
        ("sort -o *", "sort -o out in"),
        ("git diff --output=x *", "git diff --output=x"),
        ("* --yes-really", "anything --yes-really"),
    ],
)
def test_long_and_short_options_are_one(options, command, judged):
    """As programs read them."""
    rules = ["allow *", f"deny files.*(command={options})"]
    assert run(judged, command, *rules) == "rule.denied"


def test_every_command_of_a_line_is_judged(judged):
    """The first one does not speak for the rest."""
    rules = ["allow files.*(command=git *)", "deny files.*(command=rm *)"]
    assert run(judged, ["git status", "rm -r x"], *rules) == "rule.denied"
    assert run(judged, ["git status", "curl x"], *rules) == "ask"
    assert run(judged, ["cd d", "git push"], "allow *", "ask *(command=git push *)") == "ask"
    both = ["allow files.*(command=git log *)", "allow files.*(command=head *)"]
    assert run(judged, ["git log", "head"], *both) == "run"


def test_a_redirection_is_a_path_of_its_own(judged):
    """An allowed command does not carry its output anywhere."""
    call = Signature(
        writes=[resources.Command("cargo check"), resources.Path("/home/me/.zshrc")]
    )
    assert judged(call, "allow files.*(command=cargo check)") == "ask"


def test_what_cannot_be_taken_apart_is_asked(judged):
    """A deny may concern it, and no rule says otherwise."""
    call = Signature(writes=[resources.Any("command")])
    assert judged(call, "allow files.*(command=*)") == "ask"
    assert judged(call, "allow *", "deny *(command=rm *)", mode="trust") == "ask"


def test_a_broken_canonical_text_is_taken_for_the_worst(judged):
    """A pack that builds the text by hand and leaves a quote open gains nothing."""
    from toolcrib.signature import Resource  # noqa: PLC0415

    call = Signature(writes=[Resource("command", "git 'status")])
    assert judged(call, "allow files.*(command=git *)") == "ask"
    assert judged(call, "allow *", "deny *(command=rm *)") == "rule.denied"


@pytest.mark.parametrize(
    "words",
    [
        ["xargs", "-a"] * 2000,
        ["find", "-exec"] * 2000,
        ["env", *["-i", "A=1", "x"] * 1000],
        ["ssh", *["h"] * 3000],
        ["sh", "-c", "sh -c 'x;'" * 1000],
        ["eval", "$(" * 3000],
    ],
)
def test_a_command_cannot_make_judging_slow(words, judged, at_most):
    """One that wraps more than anybody would write is taken for the worst."""
    call = Signature(writes=[resources.Command(words)])
    with at_most(2_000_000):
        answer = judged(call, "allow *", "deny *(command=git push *)", "ask *(command=rm *)")
    assert answer in {"rule.denied", "run"}

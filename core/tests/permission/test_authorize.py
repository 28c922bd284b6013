"""The stage: precedence, modes, parts of a call."""

from __future__ import annotations

import pytest

from toolcrib import permission, resources
from toolcrib.errors import StageError
from toolcrib.question import Allow, Deny
from toolcrib.signature import Resource, Signature
from toolcrib.vocabulary import Label, Mode


READ = Signature(reads=[resources.Path("/ws/src/a.py")])
OUTSIDE = Signature(reads=[resources.Path("/etc/hosts")])
WRITE = Signature(writes=[resources.Path("/ws/src/a.py")])
WRITE_OUTSIDE = Signature(writes=[resources.Path("/etc/hosts")])
FETCH = Signature(reads=[resources.Url("https://docs.example.com/a/b")])
RUN = Signature(writes=[resources.Command("git status")])
STATE = Signature(writes=[resources.State("list")])
AGENT = Signature(effects={"agent"})
SERVER = Signature(reads=[resources.Server("x")])

MODES = {
    #               plan           ask    edits  trust
    "read": (READ, ["run", "run", "run", "run"]),
    "read outside": (OUTSIDE, ["ask", "ask", "ask", "run"]),
    "write": (WRITE, ["mode.denied", "ask", "run", "run"]),
    "write outside": (WRITE_OUTSIDE, ["mode.denied", "ask", "ask", "run"]),
    "fetch": (FETCH, ["ask", "ask", "ask", "run"]),
    "run": (RUN, ["mode.denied", "ask", "ask", "run"]),
    "own state": (STATE, ["run", "run", "run", "run"]),
    "table": (Signature(writes=[resources.Table("t")]), ["mode.denied", "ask", "ask", "run"]),
    "agent": (AGENT, ["mode.denied", "ask", "ask", "run"]),
    "server": (SERVER, ["ask", "ask", "ask", "run"]),
    "any read": (Signature(effects={"fs_read"}), ["ask", "ask", "ask", "run"]),
    "any write": (Signature(effects={"fs_write"}), ["mode.denied", "ask", "ask", "run"]),
    "nothing said": (None, ["mode.denied", "ask", "ask", "ask"]),
    "nothing in it": (Signature(), ["mode.denied", "ask", "ask", "ask"]),
    "read and fetch": (
        Signature(reads=[*READ.resources, *FETCH.resources]),
        ["ask", "ask", "ask", "run"],
    ),
}


@pytest.mark.parametrize("name", MODES)
def test_each_mode_runs_asks_and_refuses(name, judged):
    """The table of modes, with no rule and no grant."""
    signature, expected = MODES[name]
    assert [judged(signature, mode=mode) for mode in Mode] == expected


@pytest.mark.parametrize("name", MODES)
def test_no_rule_goes_beyond_the_ceiling_of_plan(name, judged):
    """What *plan* does not permit is refused whatever a rule says; the rest runs."""
    signature, (plan, *_) = MODES[name]
    expected = "mode.denied" if plan == "mode.denied" else "run"
    assert judged(signature, "allow *", mode="plan") == expected
    answered = judged(signature, mode="plan", answer=Allow(by="alice"))
    assert answered == expected


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("mode", Mode)
def test_a_deny_without_fields_is_absolute(name, mode, judged):
    """In every mode, before every *allow*, and whoever says yes."""
    rules = ["allow *", "deny files.*", "allow files.read"]
    signature, _ = MODES[name]
    assert judged(signature, *rules, mode=mode) == "rule.denied"
    answered = judged(signature, *rules, mode=mode, answer=Allow(by="alice"))
    assert answered == "rule.denied"


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("mode", ["ask", "edits", "trust"])
def test_an_ask_beats_allow_and_mode(name, mode, judged):
    """Whatever else is said, and in whatever order."""
    signature, _ = MODES[name]
    assert judged(signature, "allow *", "ask files.*", "allow *", mode=mode) == "ask"
    answer = Allow(by="alice")
    assert judged(signature, "allow *", "ask files.*", mode=mode, answer=answer) == "run"


@pytest.mark.parametrize("name", MODES)
def test_an_allow_without_fields_covers_everything(name, judged):
    """It covers effects on any resource too."""
    signature, _ = MODES[name]
    assert judged(signature, "allow files.read") == "run"


def test_an_allow_must_cover_every_part(judged):
    """Rules may do so together, and the mode covers what it runs itself."""
    call = Signature(
        reads=[resources.Path("/ws/a"), resources.Url("https://x.com/")],
        writes=[resources.Path("/tmp/out")],
    )
    host, path = "allow files.*(host=x.com)", "allow files.*(path=/tmp/**)"
    assert judged(call, host) == "ask"
    assert judged(call, path) == "ask"
    assert judged(call, host, path) == "run"


def test_a_deny_needs_one_part(judged):
    """The rest of the call does not matter."""
    call = Signature(reads=[resources.Path("/ws/a"), resources.Path("/ws/.env")])
    assert judged(call, "allow *", "deny *(path=**/.env)", mode="trust") == "rule.denied"


def test_an_effect_without_resource_is_any_resource(judged):
    """Patterns of its type do not cover it, and a deny with one makes a question."""
    call = Signature(effects={"net_read"})
    assert judged(call, "allow files.read(host=*)") == "ask"
    assert judged(call, "allow files.read(effect=net_read)") == "run"
    assert judged(call, "allow *", "deny *(host=evil.com)") == "ask"
    assert judged(call, "allow *", "deny *(url=https://evil.com)", mode="trust") == "ask"
    assert judged(call, "allow *", "deny *(path=**/.env)") == "run"
    assert judged(call, "allow *", "deny *(host=evil.com)", answer=Allow(by="a")) == "run"


def test_any_resource_of_a_type_can_be_said(judged):
    """Beside others that are known."""
    call = Signature(reads=[resources.Path("/ws/a"), resources.Any("path")])
    assert judged(call) == "ask"
    assert judged(call, "allow *", "deny *(path=**/x)") == "ask"
    assert judged(call, "allow *") == "run"


def test_a_deny_cannot_be_preanswered_for_any_resource(make):
    """The question says so, and which rule it answers."""
    admitted = make.call(make.tool(effects=["net_read"]))
    context = make.context(["allow *", "deny *(host=evil.com)"])
    asked = permission.authorize(admitted, None, context)
    assert not asked.preanswerable
    assert asked.answers == ("deny *(host=evil.com)",)


def test_a_signature_wider_than_declared_is_refused(judged, make):
    """Whatever lets it run otherwise."""
    tool = make.tool(effects=["fs_read"])
    assert judged(WRITE, "allow *", tool=tool, mode="trust") == "signature.wider"
    assert judged(Signature(effects={"agent"}), "allow *", tool=tool) == "signature.wider"


def test_a_tool_without_effects_runs_unless_a_rule_says_otherwise(judged, make):
    """It needs no signature, in any mode."""
    tool = make.tool(effects=[])
    for mode in Mode:
        assert judged(None, tool=tool, mode=mode) == "run"
    assert judged(Signature(), tool=tool) == "run"
    assert judged(None, "ask files.read", tool=tool) == "ask"
    assert judged(None, "deny files.*", tool=tool) == "rule.denied"
    assert judged(None, "deny files.*(path=**/x)", tool=tool) == "run"
    assert judged(READ, tool=tool) == "signature.wider"


def test_what_is_no_signature_says_nothing(judged, make):
    """A pack that answers something else is asked about."""
    tool = make.tool(effects=["fs_read"])
    assert judged("everything is fine", tool=tool) == "ask"


def test_toolcribs_own_files_are_never_writable(judged, tmp_path):
    """By no rule, mode, person, link or letter case; reading is another matter."""
    policy = tmp_path / "toolcrib.toml"
    policy.write_text("")
    (tmp_path / "link").symlink_to(policy)
    own = {"workspace": str(tmp_path), "protected": [policy, tmp_path / "state"]}
    for name in ["toolcrib.toml", "link", "TOOLCRIB.TOML", "state/ledger.db", "state"]:
        call = Signature(writes=[resources.Path(tmp_path / name)])
        for mode in ["ask", "edits", "trust"]:
            assert judged(call, "allow *", mode=mode, **own) == "path.protected"
            yes = Allow(by="alice")
            assert judged(call, "allow *", mode=mode, answer=yes, **own) == "path.protected"
    assert judged(Signature(reads=[resources.Path(policy)]), **own) == "run"


def test_a_protected_link_is_protected_where_it_stands(judged, tmp_path):
    """Replacing the link would replace the policy."""
    (tmp_path / "real.toml").write_text("")
    (tmp_path / "policy.toml").symlink_to(tmp_path / "real.toml")
    own = {"workspace": str(tmp_path), "protected": [tmp_path / "policy.toml"]}
    for name in ["real.toml", "policy.toml"]:
        call = Signature(writes=[resources.Path(tmp_path / name)])
        assert judged(call, "allow *", mode="trust", **own) == "path.protected"


def test_writing_a_folder_that_holds_them_is_always_asked(judged, tmp_path):
    """It may or may not concern them, so no rule answers it."""
    own = {"workspace": str(tmp_path), "protected": [tmp_path / "toolcrib.toml"]}
    call = Signature(writes=[resources.Path(tmp_path)])
    assert judged(call, "allow *", mode="trust", **own) == "ask"
    assert judged(call, "allow *", mode="trust", answer=Allow(by="a"), **own) == "run"


def test_a_contained_session_is_kept_in_its_folders(judged):
    """Not even a rule lets a path out."""
    kept = {"containment": ["/ws/sub"], "mode": "trust"}
    assert judged(Signature(reads=[resources.Path("/ws/sub/a")]), **kept) == "run"
    for path in ["/ws/other", "/ws/subject/a", "/ws", "/ws/sub/../x"]:
        call = Signature(reads=[resources.Path(path)])
        assert judged(call, "allow *", **kept) == "path.outside"


def test_a_pack_may_use_its_own_state(judged, make):
    """Also as files, in *plan* too; another pack's state is none of its business."""
    tool = make.tool(id="task.add", effects=["host_state"])
    own = {"pack_state": lambda pack: f"/state/{pack}", "mode": "plan"}
    mine = Signature(writes=[resources.Path("/state/task/list.json")])
    theirs = Signature(writes=[resources.Path("/state/goal/list.json")])
    assert judged(mine, tool=tool, **own) == "run"
    assert judged(theirs, tool=tool, **own) == "signature.wider"
    assert judged(Signature(effects={"host_state"}), tool=tool, **own) == "mode.denied"


def test_relative_paths_start_in_the_workspace(make, tmp_path):
    """What runs is told the real path."""
    (tmp_path / "link").symlink_to("/etc")
    context = make.context(workspace=str(tmp_path))
    admitted = make.call(make.tool())
    inside = permission.authorize(
        admitted, Signature(reads=[resources.Path("a/../b")]), context
    )
    assert inside.signature.resources == (Resource("path", f"{tmp_path}/b"),)
    for path in ["../x", "link/hosts", "a/../../x"]:
        call = Signature(reads=[resources.Path(path)])
        assert make.verdict(permission.authorize(admitted, call, context)) == "ask"


def test_a_path_that_is_not_canonical_is_made_so(judged):
    """A pack that builds a resource by hand gains nothing."""
    for path in ["/ws/../etc/hosts", "/ws//../etc/hosts", "/ws/./../etc", "/ws/.."]:
        assert judged(Signature(reads=[Resource("path", path)])) == "ask"
    assert judged(Signature(reads=[Resource("path", "/ws/a/./b")])) == "run"


def test_labels_that_may_not_meet_are_kept_apart(judged, make):
    """A session that read private things and untrusted text may not send."""
    tool = make.tool(effects=["net_write"], labels=["sends_out"])
    apart = {"forbid_labels": [list(Label)], "mode": "trust"}
    call = Signature(writes=[resources.Url("https://x.com/")])
    seen = ["reads_private", "returns_untrusted"]
    assert judged(call, tool=tool, **apart) == "run"
    assert judged(call, tool=tool, labels_seen={seen[0]}, **apart) == "run"
    assert judged(call, "allow *", tool=tool, labels_seen=seen, **apart) == "labels.forbidden"
    harmless = make.tool(effects=[])
    assert judged(None, tool=harmless, labels_seen=Label, **apart) == "run"


def test_a_person_who_says_no_is_told_to_the_model(make):
    """With the reason."""
    admitted = make.call(make.tool())
    refusal = permission.authorize(
        admitted, READ, make.context(), answer=Deny(by="alice", reason="not that file")
    )
    assert refusal.code == "person.denied"
    assert "not that file" in refusal.text


def test_conditions_look_at_who_calls_and_how(judged):
    """Mode, agent, principal, effect and access."""
    assert judged(WRITE, "allow files.*(agent=builder)") == "ask"
    assert judged(WRITE, "allow files.*(agent=builder)", agent="builder") == "run"
    assert judged(READ, "deny files.*(agent=plan*)", agent="planner") == "rule.denied"
    assert judged(FETCH, "allow files.*(mode=edits)", mode="edits") == "run"
    assert judged(FETCH, "allow files.*(mode=!plan)", mode="plan") == "ask"
    assert judged(FETCH, "allow files.*(principal=bob)") == "ask"
    assert judged(READ, "deny files.*(effect=fs_write)") == "run"
    assert judged(WRITE, "deny files.*(effect=fs_write)", mode="trust") == "rule.denied"
    assert judged(WRITE, "allow files.*(path=src/**, access=read)") == "ask"
    assert judged(WRITE, "allow files.*(path=src/**, access=write)") == "run"


PATHS = {"type": "object", "properties": {
    "path": {"type": "string", "format": "path"},
    "url": {"type": "string", "format": "uri"},
    "deep": {"type": "array", "items": {"$ref": "#/$defs/item"}},
}, "$defs": {"item": {"anyOf": [
    {"type": "object", "properties": {
        "file": {"type": "string", "format": "path"},
        "next": {"$ref": "#/$defs/item"},
    }},
    {"type": "null"},
]}}}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "a"}, "run"),
        ({"path": "../a"}, "ask"),
        ({"path": "~/a"}, "ask"),
        ({"path": "~root/a"}, "ask"),
        ({"path": "~nobody-of-this-name/a"}, "run"),
        ({"path": "a\0"}, "ask"),
        ({"path": ".env"}, "rule.denied"),
        ({"path": "x/../.ENV"}, "rule.denied"),
        ({"url": "https://evil.com/"}, "rule.denied"),
        ({"url": "https://good.com@EVIL.com:443"}, "rule.denied"),
        ({"url": "file:///ws/.env"}, "rule.denied"),
        ({"url": "file:/ws/%2eenv"}, "rule.denied"),
        ({"url": "no address"}, "ask"),
        ({"deep": [None, {"file": "ok"}]}, "run"),
        ({"deep": [None, {"next": {"next": {"file": ".env"}}}]}, "rule.denied"),
    ],
)
def test_the_core_looks_at_typed_parameters_itself(arguments, expected, judged, make):
    """A pack that leaves a path or address out of its signature is not believed."""
    tool = make.tool(effects=["fs_read", "net_read"], input_schema=PATHS)
    call = Signature(reads=[resources.Path("/ws/harmless")])
    rules = ["deny *(path=**/.env)", "deny *(host=evil.com)"]
    assert judged(call, *rules, tool=tool, arguments=arguments) == expected


def test_the_models_own_spelling_is_judged_as_well(judged, make, tmp_path):
    """A pack that has resolved the link already hides nothing from a deny."""
    (tmp_path / "secrets").symlink_to("data")
    (tmp_path / "other").symlink_to("data")
    tool = make.tool(effects=["fs_read"], input_schema=PATHS)
    place = {"tool": tool, "workspace": str(tmp_path), "arguments": {"path": "secrets/a"}}
    for said in [
        resources.Path(tmp_path / "data" / "a"),
        resources.Path(tmp_path / "other" / "a"),
        resources.Path("secrets/a"),
    ]:
        call = Signature(reads=[said])
        assert judged(call, **place) == "run"
        assert judged(call, "deny *(path=**/secrets/**)", **place) == "rule.denied"


def test_what_a_pack_says_of_a_parameter_counts(judged, make):
    """A tool that writes may say that it only reads this one."""
    tool = make.tool(effects=["fs_read", "fs_write"], input_schema=PATHS)
    call = Signature(reads=[resources.Path("/ws/a")])
    assert judged(call, tool=tool, arguments={"path": "a"}) == "run"
    other = Signature(reads=[resources.Path("/ws/b")])
    assert judged(other, tool=tool, arguments={"path": "a"}) == "ask"


def test_only_an_admitted_call_is_judged(make):
    """Skipping a stage is refused."""
    with pytest.raises(StageError):
        permission.authorize("call", None, make.context())


def test_a_refusal_names_rule_file_and_what_to_do(make):
    """Nobody has to guess which rule it was."""
    from toolcrib import rules  # noqa: PLC0415

    rule = rules.parse("deny files.*(path=**/.env)", file="/home/me/toolcrib.toml", line=12)
    admitted = make.call(make.tool())
    call = Signature(reads=[resources.Path("/ws/.env")])
    refusal = permission.authorize(admitted, call, make.context([rule]))
    for piece in ["'deny files.*(path=**/.env)'", "/home/me/toolcrib.toml:12", "/ws/.env"]:
        assert piece in refusal.text
    assert refusal.details["rule"] == rule.text

"""Compose: installed is not enabled, contested is withheld, everything is said."""

from __future__ import annotations

import json
import sys

import attrs
import pytest

from toolcrib.catalog.stage import changes, compose
from toolcrib.discovery.stage import discover
from toolcrib.outcome import Refusal
from toolcrib.policy.value import Policy
from toolcrib.tool import Description, Tool


def composed(*sites, live=(), which=lambda name: None, **policy):
    findings = discover(path=[str(s) for s in sites])
    return compose(findings, Policy(**policy), live=live, which=which)


def codes(catalog):
    return [(r.subject, r.code) for r in catalog.refusals]


def live_tool(name, source="mcp.github", **more):
    more.setdefault("input_schema", {"type": "object"})
    return Tool(id=f"{source}.{name}", title=name, description=Description(name), **more)


def test_installed_is_not_enabled(site):
    """A pack that policy does not name is available, with the line that enables it."""
    site.install("toolcrib-web")
    site.install("toolcrib-files")
    catalog = composed(site, packs=["toolcrib-files"], file="/etc/me/toolcrib.toml")
    assert list(catalog) == ["files.ping"]
    (item,) = catalog.available
    assert (item.pack_id, item.distribution, item.version) == ("web", "toolcrib-web", "1.0")
    assert item.line == 'packs = ["toolcrib-files", "toolcrib-web"]'
    assert "/etc/me/toolcrib.toml" in item.how


def test_manifest_of_a_pack_that_is_not_enabled_is_not_read(site):
    """Cost grows with what is used."""
    site.install("toolcrib-web", manifest=b"nonsense")
    catalog = composed(site)
    assert catalog.refusals == ()
    assert len(catalog.available) == 1


def test_pack_id_enables_nothing(site):
    """The refusal says which distribution to write."""
    site.install("toolcrib-web")
    catalog = composed(site, packs=["web"])
    assert codes(catalog) == [("web", "pack.missing")]
    assert '"toolcrib-web"' in catalog.refusals[0].text


def test_missing_distribution_is_named_with_the_closest(site):
    """A slip of the pen is pointed at."""
    site.install("toolcrib-web")
    catalog = composed(site, packs=["toolcrib-wep"])
    assert codes(catalog) == [("toolcrib-wep", "pack.missing")]
    assert "'toolcrib-web'" in catalog.refusals[0].text
    assert "pip install zzz" in composed(site, packs=["zzz"]).refusals[0].text


def test_broken_distribution_is_said_once(site):
    """It is in trouble, not missing."""
    info = site.install("toolcrib-web")
    (info / "METADATA").unlink()
    assert codes(composed(site, packs=["toolcrib-web"])) == [
        ("toolcrib-web", "metadata.unreadable")
    ]


def test_contested_id_withholds_both(site):
    """No winner is picked; the lines that choose are given."""
    site.install("toolcrib-web")
    site.install("acme-web", pack="web")
    site.install("toolcrib-files")
    catalog = composed(site, packs=["acme-web", "toolcrib-web", "toolcrib-files"])
    assert list(catalog) == ["files.ping"]
    assert sorted(codes(catalog)) == [
        ("acme-web", "pack.contested"),
        ("toolcrib-web", "pack.contested"),
    ]
    for refusal in catalog.refusals:
        assert 'web = "acme-web"' in refusal.text
        assert 'web = "toolcrib-web"' in refusal.text


def test_contest_is_between_enabled_distributions_only(site):
    """An installed stranger cannot take a pack away by claiming its id."""
    site.install("toolcrib-web")
    site.install("acme-web", pack="web")
    catalog = composed(site, packs=["toolcrib-web"])
    assert catalog["web.ping"].provenance.distribution == "toolcrib-web"
    assert catalog.refusals == ()


def test_owner_settles_a_contest(site):
    """The other one is refused, and told why."""
    site.install("toolcrib-web")
    site.install("acme-web", pack="web")
    enabled = ["acme-web", "toolcrib-web"]
    catalog = composed(site, packs=enabled, owners={"web": "acme-web"})
    assert catalog["web.ping"].provenance.distribution == "acme-web"
    assert codes(catalog) == [("toolcrib-web", "pack.contested")]
    neither = composed(site, packs=enabled, owners={"web": "nobody"})
    assert list(neither) == []
    assert "nobody" in neither.refusals[0].text


def test_nobody_may_claim_the_cores_id(site):
    """``crib`` is the core's own."""
    site.install("toolcrib-crib", pack="crib")
    catalog = composed(site, packs=["toolcrib-crib"])
    assert list(catalog) == []
    assert codes(catalog) == [("toolcrib-crib", "pack.contested")]


def test_every_problem_is_reported_at_once(site, make_tool):
    """None stops another."""
    site.install("toolcrib-a", manifest=b"nonsense")
    site.install("toolcrib-b", manifest=None)
    site.install(
        "toolcrib-c", manifest=site.manifest("c", make_tool(), make_tool("x", effects=["?"]))
    )
    catalog = composed(
        site,
        packs=["toolcrib-a", "toolcrib-b", "toolcrib-c", "toolcrib-d"],
        guards=["nobody"],
        settings={"gone": {"x": 1}},
        overrides={"c.nothing": "c.ping"},
        renames={"c.nothing": "other"},
    )
    assert list(catalog) == ["c.ping"]
    assert sorted(codes(catalog)) == sorted(
        [
            ("toolcrib-d", "pack.missing"),
            ("toolcrib-a", "manifest.invalid"),
            ("toolcrib-b", "manifest.missing"),
            ("nobody", "policy.dangling"),
            ("gone", "policy.dangling"),
            ("c.x", "manifest.invalid"),
            ("c.nothing", "policy.dangling"),
            ("c.nothing", "policy.dangling"),
        ]
    )


def test_a_tool_of_a_refused_pack_is_not_unknown(site):
    """Who asks for it is told what is wrong with its pack, if policy enables it."""
    site.install("toolcrib-web", manifest=None)
    found = composed(site, packs=["toolcrib-web"]).find("web.ping")
    assert (found.code, found.subject) == ("manifest.missing", "web.ping")
    assert "toolcrib manifest write" in found.text
    assert composed(site, packs=[]).find("web.ping").code == "tool.unknown"


@pytest.mark.parametrize(
    ("names", "code"),
    [(["Bad Name"], "tool.misnamed"), (["twice", "twice"], "tool.duplicated")],
)
def test_misdeclared_names_refuse_the_whole_pack(site, make_tool, names, code):
    """A pack whose names cannot be relied on is not offered in part."""
    tools = [make_tool("good"), *(make_tool(name) for name in names)]
    site.install("toolcrib-web", manifest=site.manifest("web", *tools))
    catalog = composed(site, packs=["toolcrib-web"])
    assert list(catalog) == []
    assert codes(catalog) == [("web", code)]


def test_override_puts_one_tool_in_the_place_of_another(site):
    """It is explicit, shown, and the owner of the code is the other pack."""
    site.install("toolcrib-web")
    site.install("toolcrib-corp")
    catalog = composed(
        site, packs=["toolcrib-web", "toolcrib-corp"], overrides={"web.ping": "corp.ping"}
    )
    assert list(catalog) == ["web.ping"]
    entry = catalog["web.ping"]
    assert (entry.pack, entry.declared.id, entry.tool.id) == ("corp", "corp.ping", "web.ping")
    assert catalog.owner("web.ping") == "corp"
    assert "toolcrib-web" in entry.replaces
    assert json.loads(json.dumps(entry.facts()))["replaces"] == entry.replaces


def test_two_tools_may_change_places(site):
    """Overrides look at what is declared, not at each other."""
    site.install("toolcrib-a")
    site.install("toolcrib-b")
    catalog = composed(
        site,
        packs=["toolcrib-a", "toolcrib-b"],
        overrides={"a.ping": "b.ping", "b.ping": "a.ping"},
    )
    assert {id_: e.pack for id_, e in catalog.tools.items()} == {"a.ping": "b", "b.ping": "a"}


def test_rename_changes_the_last_part(site):
    """The tool keeps its pack and its code."""
    site.install("toolcrib-web")
    for name in ("fetch", "web.fetch"):
        catalog = composed(site, packs=["toolcrib-web"], renames={"web.ping": name})
        assert list(catalog) == ["web.fetch"]
        assert catalog["web.fetch"].declared.id == "web.ping"


@pytest.mark.parametrize("name", ["Not A Name", "corp.fetch", "a.b"])
def test_rename_to_no_name_is_refused(site, name):
    """A tool cannot be moved into another pack."""
    site.install("toolcrib-web")
    catalog = composed(site, packs=["toolcrib-web"], renames={"web.ping": name})
    assert codes(catalog) == [("web.ping", "policy.dangling")]
    assert list(catalog) == ["web.ping"]


def test_rename_onto_another_withholds_both(site, make_tool):
    """Again no winner."""
    site.install(
        "toolcrib-web",
        manifest=site.manifest("web", make_tool("a"), make_tool("b"), make_tool("c")),
    )
    catalog = composed(site, packs=["toolcrib-web"], renames={"web.a": "b"})
    assert list(catalog) == ["web.c"]
    assert sorted(codes(catalog)) == [("web.a", "tool.contested"), ("web.b", "tool.contested")]


@pytest.mark.parametrize(
    ("hide", "left"),
    [
        ({"tools": ["web.*"]}, []),
        ({"tools": ["web.shel?", "web.[s]hell"]}, ["web.ping", "web.shell"]),
        ({"effects": ["process"]}, ["web.ping"]),
        ({"kinds": ["execute"]}, ["web.ping"]),
        ({"categories": ["danger"]}, ["web.ping"]),
        ({"tags": ["sharp"]}, ["web.ping"]),
        ({"audience": ["operator"]}, ["web.ping"]),
        ({"audience": ["model"]}, ["web.shell"]),
    ],
)
def test_hidden_tools_are_withheld_with_the_reason(site, make_tool, hide, left):
    """By id, effect, kind, category, tag and audience."""
    shell = make_tool(
        "shell", effects=["process"], category="danger", tags=["sharp"], audience=["operator"]
    )
    site.install("toolcrib-web", manifest=site.manifest("web", make_tool(), shell))
    catalog = composed(site, packs=["toolcrib-web"], hide=hide)
    assert list(catalog) == left
    assert {r.code for r in catalog.refusals} <= {"tool.hidden"}
    for refusal in catalog.refusals:
        assert "[hide]" in refusal.text
        assert catalog.find(refusal.subject) is refusal


def test_requirements_are_judged_without_import(site, make_tool):
    """Programs, the host's interfaces, and policy's flags."""
    needs = make_tool(
        "needs",
        requires={"executables": ["git"], "capabilities": ["agents"], "flags": ["beta"]},
    )
    site.install("toolcrib-web", manifest=site.manifest("web", make_tool(), needs))
    catalog = composed(site, packs=["toolcrib-web"])
    assert list(catalog) == ["web.ping"]
    (refusal,) = catalog.refusals
    assert refusal.code == "tool.unmet"
    assert len(refusal.details["missing"]) == 3
    assert not refusal.details["only_host"]
    findings = discover(path=[str(site)])
    met = compose(
        findings,
        Policy(packs=["toolcrib-web"], flags=["beta"]),
        capabilities={"agents"},
        which=lambda name: f"/bin/{name}",
    )
    assert list(met) == ["web.needs", "web.ping"]


def test_requirements_of_a_pack_hold_for_all_its_tools(site, make_tool):
    """They are said once for each."""
    manifest = site.manifest("web", make_tool(), requires={"flags": ["beta"]})
    site.install("toolcrib-web", manifest=manifest)
    assert codes(composed(site, packs=["toolcrib-web"])) == [("web.ping", "tool.unmet")]


def test_closed_vocabulary_names_index_id_and_field(site, make_tool):
    """A word outside it withholds the tool alone."""
    site.install(
        "toolcrib-web",
        manifest=site.manifest(
            "web", make_tool("a", tags=["net", "nett"]), make_tool("b", tags=["net"])
        ),
    )
    catalog = composed(site, packs=["toolcrib-web"], vocabulary={"tags": ["net"]})
    assert list(catalog) == ["web.b"]
    (refusal,) = catalog.refusals
    assert refusal.code == "tool.foreign"
    assert "tags[1] of web.a" in refusal.text


def test_every_violation_of_a_closed_vocabulary_is_said_at_once(site, make_tool):
    """Each names field, index and id; other tools are not touched."""
    bad = make_tool("a", tags=["x", "net", "y"], serves=["fly"], effects=["fs_write"])
    site.install("toolcrib-web", manifest=site.manifest("web", bad, make_tool("b")))
    catalog = composed(
        site,
        packs=["toolcrib-web"],
        vocabulary={"tags": ["net"], "serves": ["walk"], "effects": ["fs_read"], "kind": []},
        valid_id=r"web\.[b-z]+",
    )
    refusal = catalog.find("web.a")
    assert isinstance(refusal, Refusal)
    problems = refusal.details["problems"]
    assert "valid_id" in problems[0]
    for place in ("tags[0] of web.a", "tags[2] of web.a", "serves[0]", "effects[0]", "kind[0]"):
        assert any(place in problem for problem in problems)


def test_valid_id_may_be_a_function_and_its_failure_hurts_one_tool(site, make_tool):
    """It is given the declaration; one that raises withholds what it looked at."""
    site.install("toolcrib-web", manifest=site.manifest("web", make_tool("a"), make_tool("b")))
    catalog = composed(
        site, packs=["toolcrib-web"], valid_id=lambda tool: tool.name == "b" or 1 / 0
    )
    assert list(catalog) == ["web.b"]
    assert "ZeroDivisionError" in catalog.refusals[0].text


def test_facts_of_a_tool_are_json_safe(site):
    """Screens get everything that is declared, and where it comes from."""
    site.install("toolcrib-web")
    facts = composed(site, packs=["toolcrib-web"])["web.ping"].facts()
    again = json.loads(json.dumps(facts))
    assert again["kind"] == "read_only" or again["kind"] in {"write", "execute"}
    assert again["provenance"]["distribution"] == "toolcrib-web"
    assert again["definition_digest"].startswith("sha256:")


def test_find_takes_ids_and_wire_names_and_only_suggests(site):
    """What is not there is never guessed."""
    site.install("toolcrib-web")
    site.install("toolcrib-files")
    catalog = composed(site, packs=["toolcrib-web"])
    assert catalog.find("web_ping") is catalog.find("web.ping") is catalog["web.ping"]
    for name, words in (("web.pin", "web.ping"), ("files.ping", "toolcrib-files")):
        refusal = catalog.find(name)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "tool.unknown"
        assert words in refusal.text


def test_select_filters(site, make_tool):
    """By kind, effect, category, tag, audience and pack."""
    tools = [make_tool("a", tags=["x"]), make_tool("b", effects=["process"], category="c")]
    site.install("toolcrib-web", manifest=site.manifest("web", *tools))
    catalog = composed(site, packs=["toolcrib-web"])

    def ids(**criteria):
        return [e.tool.id for e in catalog.select(**criteria)]

    assert ids(kind="execute") == ids(effect="process") == ids(category="c") == ["web.b"]
    assert ids(tag="x") == ids(kind="read_only") == ["web.a"]
    assert ids(audience="model", pack="web") == ["web.a", "web.b"]
    assert ids(audience="user") == []


def test_same_inputs_give_the_same_digest(site, other):
    """In whatever order they were installed."""
    for name in ("a", "b"):
        site.install(f"toolcrib-{name}")
    for name in ("b", "a"):
        other.install(f"toolcrib-{name}")
    one = composed(site, packs=["toolcrib-a", "toolcrib-b"])
    two = composed(other, packs=["toolcrib-b", "toolcrib-a"])
    assert one.digest == two.digest
    assert one.digest != composed(site, packs=["toolcrib-a"]).digest
    with pytest.raises((AttributeError, TypeError)):
        one.tools["x"] = one["a.ping"]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        one.revision = 7


@pytest.fixture
def catalog(site):
    """A catalog with one pack that may have live sources."""
    site.install("toolcrib-mcp")
    return composed(site, packs=["toolcrib-mcp"])


def test_live_tools_are_replaced_at_once_in_a_new_catalog(catalog):
    """The old catalog and the pack's own tools stay what they were."""
    one = catalog.with_live("mcp", "github", [live_tool("a"), live_tool("b")])
    two = one.with_live("mcp", "github", [live_tool("b"), live_tool("c")])
    assert list(catalog) == ["mcp.ping"]
    assert list(one) == ["mcp.github.a", "mcp.github.b", "mcp.ping"]
    assert list(two) == ["mcp.github.b", "mcp.github.c", "mcp.ping"]
    assert [catalog.revision, one.revision, two.revision] == [1, 2, 3]
    assert two["mcp.ping"].tool is catalog["mcp.ping"].tool
    assert two.sources["mcp", "github"].revision == 2
    assert list(two.without("mcp", "github")) == ["mcp.ping"]


def test_live_sources_do_not_touch_each_other(catalog):
    """Each is replaced by itself."""
    both = catalog.with_live("mcp", "github", [live_tool("a")]).with_live(
        "mcp", "jira", [live_tool("a", "mcp.jira")]
    )
    assert list(both.with_live("mcp", "jira", [])) == ["mcp.github.a", "mcp.ping"]


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ([live_tool("b", "mcp.jira")], "tool.misnamed"),
        ([live_tool("x", "web.github")], "tool.misnamed"),
        ([live_tool("")], "tool.misnamed"),
        (["no tool"], "tool.misnamed"),
        ([live_tool("b"), live_tool("b")], "tool.duplicated"),
    ],
)
def test_live_bad_tool_is_withheld_alone(catalog, bad, code):
    """And named."""
    after = catalog.with_live("mcp", "github", [live_tool("a"), *bad])
    assert list(after) == ["mcp.github.a", "mcp.ping"]
    assert [r.code for r in after.refusals] == [code]


def test_live_schema_that_cannot_be_enforced_is_withheld_alone(catalog):
    """With keyword and pointer."""
    bad = live_tool(
        "bad", input_schema={"type": "object", "properties": {"x": {"minimum": "1"}}}
    )
    after = catalog.with_live("mcp", "github", [live_tool("a"), bad])
    assert list(after) == ["mcp.github.a", "mcp.ping"]
    (refusal,) = after.refusals
    assert refusal.code == "schema.unsupported"
    assert refusal.details == {"keyword": "minimum", "pointer": "/properties/x/minimum"}


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "array"}, 7])
def test_live_tool_without_an_object_at_its_root_is_withheld_alone(catalog, schema):
    """It does not hide the others of its source."""
    after = catalog.with_live(
        "mcp", "github", [live_tool("a"), live_tool("bad", input_schema=schema)]
    )
    assert list(after) == ["mcp.github.a", "mcp.ping"]
    assert [r.code for r in after.refusals] == ["schema.unsupported"]


def test_live_unreadable_source_keeps_its_tools_marked_stale(catalog):
    """Until it can be read again."""
    one = catalog.with_live("mcp", "github", [live_tool("a")])
    stale = one.with_unreadable("mcp", "github", "connection refused")
    assert stale["mcp.github.a"].stale
    assert not stale["mcp.ping"].stale
    assert [r.code for r in stale.refusals] == ["source.unreadable"]
    assert changes(one, stale).stale == ("mcp.github.a",)
    again = stale.with_live("mcp", "github", [live_tool("a")])
    assert not again["mcp.github.a"].stale
    assert again.refusals == ()


def test_live_source_of_a_pack_that_is_not_enabled_offers_nothing(catalog):
    """Policy enables packs, sources come with them."""
    assert list(catalog.with_live("web", "x", [live_tool("a", "web.x")])) == ["mcp.ping"]


def test_live_policy_holds_for_live_tools_too(site):
    """Hiding and renaming look at offered tools, wherever they are from."""
    site.install("toolcrib-mcp")
    catalog = composed(
        site,
        packs=["toolcrib-mcp"],
        hide={"tools": ["mcp.github.delete*"]},
        renames={"mcp.github.get": "fetch"},
    ).with_live("mcp", "github", [live_tool("delete_all"), live_tool("get")])
    assert list(catalog) == ["mcp.github.fetch", "mcp.ping"]


def test_live_changes_name_what_differs(catalog):
    """By tool and by field."""
    one = catalog.with_live("mcp", "github", [live_tool("a"), live_tool("b"), live_tool("c")])
    two = one.with_live(
        "mcp",
        "github",
        [live_tool("b", effects=frozenset()), live_tool("c"), live_tool("d")],
    )
    found = changes(one, two)
    assert found.added == ("mcp.github.d",)
    assert found.removed == ("mcp.github.a",)
    assert found.changed == {"mcp.github.b": ("effects",)}
    assert not changes(two, two)


def test_composing_imports_no_pack(site):
    """Neither the package nor its entry point."""
    site.install("toolcrib-web")
    composed(site, packs=["toolcrib-web"])
    assert "toolcrib_web" not in sys.modules

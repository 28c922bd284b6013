"""Rules that do not say what their author meant."""

from __future__ import annotations

import pytest

from toolcrib import permission, rules
from toolcrib.permission.linter import is_within


@pytest.fixture(scope="module")
def tools(make):
    return [
        make.tool(id="files.read", effects=["fs_read"]),
        make.tool(id="files.write", effects=["fs_write"]),
        make.tool(id="web.fetch", effects=["net_read"]),
        make.tool(id="shell.run", effects=["process"]),
        make.tool(id="task.add", effects=["host_state"]),
        make.tool(id="math.add", effects=[]),
        make.tool(id="mcp.srv.drop", effects=["net_write"]),
    ]


def lint(tools, *texts):
    found = permission.lint(
        [rules.parse(text) for text in texts], tools, workspace="/ws", home="/h"
    )
    return [(finding.code, finding.rule.text) for finding in found]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("deny mcp.srv.Drop", "rule.nothing"),
        ("deny mcp.other.*", "rule.nothing"),
        ("allow files.delete", "rule.nothing"),
        ("deny web.fetch(path=**/x)", "rule.dead"),
        ("deny web.fetch(effect=fs_write)", "rule.dead"),
        ("deny math.add(path=**/x)", "rule.dead"),
        ("deny math.add(effect=agent)", "rule.dead"),
        ("deny files.*(host=x.com)", "rule.dead"),
        ("allow shell.run(command=python *)", "rule.wide"),
        ("allow shell.run(command=bash -c *)", "rule.wide"),
        ("allow shell.run(command=git *)", "rule.wide"),
        ("allow shell.run(command=* --version)", "rule.wide"),
        ("allow files.*", "rule.wide"),
        ("allow *", "rule.wide"),
        ("allow files.write(path=!secrets/**)", "rule.wide"),
        ("deny *(path=**/.env, host=evil.com)", "rule.wide"),
        ("deny files.read(path=.env)", "rule.narrow"),
        ("deny files.read(path=./.env)", "rule.narrow"),
    ],
)
def test_a_rule_that_misleads_is_found(text, code, tools):
    """By a code of its own."""
    assert lint(tools, text) == [(code, rules.parse(text).text)]


@pytest.mark.parametrize(
    "text",
    [
        "deny *(path=**/.env*)",
        "allow web.fetch(host=*.example.com)",
        "allow files.write(path=src/**, path=!src/gen/**)",
        "ask mcp.*",
        "deny mcp.*(server=srv)",
        "deny mcp.srv.*(server=other)",
        "allow task.add(state=**)",
        "allow shell.run(command=git status *)",
        "allow shell.run(command=python tool.py *)",
        "allow shell.run(command=pytest *)",
        "deny shell.run(command=sudo *)",
        "ask math.add",
        "deny *(effect=net_write)",
        "allow web.fetch(acme-thing=x)",
    ],
)
def test_a_rule_that_says_what_it_means_is_left_alone(text, tools):
    """No false alarms on what people should write."""
    assert lint(tools, text) == []


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("allow files.read(path=src/**)", "allow files.read(path=src/a/*)", "rule.shadowed"),
        ("allow files.read(path=src/**)", "allow files.read(path=src/**)", "rule.shadowed"),
        ("allow web.fetch(host=*)", "allow web.fetch(host=a.com)", "rule.shadowed"),
        ("deny web.fetch", "allow web.fetch(host=a.com)", "rule.contradicted"),
        ("ask web.fetch", "allow web.fetch(host=a.com)", "rule.contradicted"),
        ("deny web.*", "ask web.fetch", "rule.contradicted"),
        ("deny files.read(path=src/**)", "allow files.read(path=src/a)", "rule.contradicted"),
    ],
)
def test_a_rule_that_another_makes_idle_is_found(first, second, found, tools):
    """In whichever order they stand."""
    idle = rules.parse(second).text
    assert (found, idle) in lint(tools, first, second)
    assert (found, idle) in lint(tools, second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("deny files.read(path=src/secret/**)", "allow files.read(path=src/**)"),
        ("allow web.fetch(host=a.com)", "deny web.fetch"),
        ("allow files.read(path=src/*)", "allow files.read(path=src/**)"),
        ("deny web.fetch(mode=plan)", "allow web.fetch(host=a.com)"),
        ("allow files.read(path=src/**, path=!src/x/**)", "allow files.read(path=src/a/**)"),
    ],
)
def test_rules_that_complete_each_other_are_left_alone(first, second, tools):
    """The exception beside the rule is what rules are for."""
    idle = rules.parse(second).text
    assert [f for f in lint(tools, first, second) if f[1] == idle] == []


def test_a_finding_names_the_nearest_tool(tools):
    """And where the rule stands."""
    rule = rules.parse("deny mcp.srv.Drop", file="toolcrib.toml", line=3)
    (found,) = permission.lint([rule], {tool.id: tool for tool in tools})
    assert "mcp.srv.drop" in found.text
    assert found.severity == "error"
    assert found.data()["line"] == 3
    assert "toolcrib.toml:3" in str(found)


@pytest.mark.parametrize(
    ("narrow", "wide", "inside"),
    [
        ("allow a.b(path=src/x)", "allow a.b(path=src/*)", True),
        ("allow a.b(path=src/*)", "allow a.b(path=src/x)", False),
        ("allow a.b(path=**)", "allow a.b(path=*)", False),
        ("allow a.b(path=src/*.py)", "allow a.b(path=src/*)", True),
        ("allow a.b(path=src/ab*.py)", "allow a.b(path=src/a*)", True),
        ("allow a.b(path=a/**/b)", "allow a.b(path=**/b)", True),
        ("allow a.b(host=x.e.com)", "allow a.b(host=*.e.com)", True),
        ("allow a.b(host=e.com)", "allow a.b(host=*.e.com)", False),
        ("allow a.b(command=git log)", "allow a.b(command=git *)", True),
        ("allow a.b(url=https://e.com/a/b)", "allow a.b(url=https://e.com/a)", True),
        ("allow a.b", "allow a.*", True),
        ("allow a.*", "allow a.b", False),
        ("allow a.b(path=src/**)", "allow a.b", False),
        ("allow a.b(path=x, path=y)", "allow a.b(path=x)", False),
        ("allow a.b(path=src/**)", "allow a.b(path=src/**, path=!src/x)", False),
    ],
)
def test_within_is_surely_within(narrow, wide, inside):
    """It says no where it is not sure; of different sorts it is never sure."""
    found = is_within(rules.parse(narrow), rules.parse(wide), "/ws", "/h")
    assert found is (inside or (narrow == "allow a.b(path=src/**)" and wide == "allow a.b"))

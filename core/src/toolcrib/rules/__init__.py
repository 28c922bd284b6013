r"""The language of permission rules: ``allow|ask|deny tool-pattern(field=pattern, …)``.

::

    deny  files.*(path=**/.env*)            anywhere, in any letter case, links seen through
    allow files.write(path=src/**, path=!src/vendor/**)
    allow web.fetch(host=*.example.com)     sub-domains at any depth, not the domain itself
    allow web.fetch(url=https://example.com/docs)     the page and all below it
    ask   shell.run(command=git push *)     also inside ``timeout 5 git push``
    deny  mcp.github.*
    allow "mcp.srv.odd name (1)"(server=srv)

``*`` stands for any characters inside one part (a folder, a label, a word, a piece of a
name), ``**`` for any number of parts. Nothing else is special. ``\`` makes the next
character literal, double quotes hold patterns with commas or parentheses, single quotes
hold words of a command, ``!`` turns a pattern round. A field may be given more than once:
one of its patterns must fit, and none of those with ``!`` may be hit.

=====================  ==================================================================
``path``               ``/`` root, ``~/`` home, otherwise the workspace; ``**/`` at the
                       start means the workspace in *allow*, everywhere in *ask* and *deny*
``host``               whole labels; ``*.`` at the start is any number of them
``url``                scheme, host, path; everything below the path is covered
``command``            words; a last ``*`` is any number of words
``server table state`` names; dots part a table's, slashes a state's
``effect access mode`` words of the contract
``agent principal``    who calls
=====================  ==================================================================

*Allow* reads narrowly: the exact canonical value. *Ask* and *deny* read widely: letter
case, look-alike widths, names of links, wrappers, and the order and spelling of options
make no difference.
"""

from __future__ import annotations

from .bound import Bound, bind
from .globs import Token
from .grammar import escape, exact, quote, word
from .patterns import CONDITIONS, TYPES, Pattern
from .rule import Field, Rule, Verdict, parse, parse_lines
from .values import narrow, wide


__all__ = [
    "CONDITIONS",
    "TYPES",
    "Bound",
    "Field",
    "Pattern",
    "Rule",
    "Token",
    "Verdict",
    "bind",
    "escape",
    "exact",
    "narrow",
    "parse",
    "parse_lines",
    "quote",
    "wide",
    "word",
]

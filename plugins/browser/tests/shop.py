"""A small shop behind a login: what the transcript of ``test_transcript.py`` is run on."""

from __future__ import annotations

from toolcrib_net.testing import ok, reply


__all__ = ["PASSWORD", "open_shop"]

PASSWORD = "tr0ub4dor & three"
_LOGIN = """<!doctype html><title>Log in</title><h1>Shop</h1>
<form action="/login" method="post"><label>User <input name="user" autocomplete="username">
</label><label>Password <input name="password" type="password"></label>
<button>Log in</button></form>"""
_ORDERS = """<!doctype html><title>Orders</title><h1>Orders of ada</h1><table><thead><tr>
<th>Number</th><th>Goods</th><th>Total</th></tr></thead><tbody>
<tr><td>1001</td><td>Seeds</td><td>12.50</td></tr>
<tr><td>1002</td><td rowspan="2">Tools</td><td>80.00</td></tr>
<tr><td>1003</td><td>19.90</td></tr></tbody></table>
<p><a href="/invoice/1002">Invoice of 1002</a></p>"""


def open_shop(site):
    """Serve the shop."""

    def login(asked):
        body = asked.body.decode()
        if "user=ada" in body and "password=tr0ub4dor+%26+three" in body:
            return reply(303, "", [("Location", "/orders"), ("Set-Cookie", "in=1; HttpOnly")])
        return ok("<h1>Wrong</h1>")

    def orders(asked):
        if asked.headers.get("cookie") != "in=1":
            return reply(303, "", [("Location", "/")])
        return ok(_ORDERS)

    def invoice(asked):
        if asked.headers.get("cookie") != "in=1":
            return reply(403)
        head = [
            ("Content-Type", "text/csv"),
            ("Content-Disposition", 'attachment; filename="invoice-1002.csv"'),
        ]
        return reply(200, "number,total\n1002,80.00\n", head)

    site.add("/", ok(_LOGIN))
    site.add("/login", login)
    site.add("/orders", orders)
    site.add("/invoice/1002", invoice)

"""Checks of the NETCONF server by an unmodified scrapli-netconf.

usage: scrapli_checks.py HOST PORT USER PRIVATE_KEY TRANSPORT VERSION CHECK

TRANSPORT is `system` (OpenSSH on a pseudo-terminal) or `paramiko` (which takes RSA keys only), VERSION is 1.0 or 1.1.
Each check begins and ends with an empty datastore. A failed check ends with status 1 and a traceback.
"""

import sys

from lxml import etree
from scrapli_netconf.driver import NetconfDriver

NC = "urn:ietf:params:xml:ns:netconf:base:1.0"
LX = "urn:catsd:lab:example"
NMDA = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda"
DS = "urn:ietf:params:xml:ns:yang:ietf-datastores"
OR = "urn:ietf:params:xml:ns:yang:ietf-origin"
NS = {"nc": NC, "lx": LX}
GEAR = f'<gear xmlns="{LX}"/>'


class Server:
    def __init__(self, host, port, user, key, transport, version):
        self.where = dict(
            host=host,
            port=int(port),
            auth_username=user,
            auth_private_key=key,
            auth_strict_key=False,
            transport=transport,
            # Without it this transport asks for SHA-1 signatures, which the server does not take.
            transport_options={"enable_rsa2": True} if transport == "paramiko" else {},
            preferred_netconf_version=version,
            strict_datastores=True,
            timeout_ops=20,
        )
        self.version = version

    def connect(self):
        return NetconfDriver(**self.where)


def config(inner):
    return f'<config><gear xmlns="{LX}" xmlns:nc="{NC}">{inner}</gear></config>'


def good(response):
    """What the client took for a success, as an element."""
    assert not response.failed, response.result
    return response.xml_result


def ok(response):
    assert good(response).find(f"{{{NC}}}ok") is not None, response.result


def refused(response, tag, *texts):
    """What the client took for a failure with this tag, and these texts anywhere in the reply."""
    assert response.failed, response.result
    found = response.xml_result.xpath("//nc:rpc-error/nc:error-tag/text()", namespaces=NS)
    assert found == [tag], response.result
    for text in texts:
        assert text in response.result, f"{text}: {response.result}"


def texts(response, path):
    return good(response).xpath(path, namespaces=NS)


def knob(session, source="running"):
    return texts(session.get_config(source=source, filter_=GEAR), "//lx:knob/text()")


def edit(session, inner):
    return session.edit_config(config=config(inner), target="candidate")


def clean(session):
    ok(session.edit_config(
        config=f'<config><gear xmlns="{LX}" xmlns:nc="{NC}" nc:operation="remove"/></config>', target="candidate"))
    ok(session.commit())


def edits(server):
    with server.connect() as session:
        assert session.netconf_version.value == server.version
        assert session.writeable_datastores == ["candidate"], session.writeable_datastores
        ok(session.lock("candidate"))
        ok(edit(session, "<knob>7</knob><item><name>a</name><text>one</text></item>"))
        ok(session.validate("candidate"))
        assert knob(session) == [] and knob(session, "candidate") == ["7"]
        ok(session.commit())
        assert knob(session) == ["7"]
        assert texts(session.get(filter_=GEAR), "//lx:item/lx:text/text()") == ["one"]
        ok(edit(session, "<knob>8</knob>"))
        ok(session.discard())
        assert knob(session, "candidate") == ["7"]
        ok(edit(session, "<knob>9</knob>"))
        ok(session.copy_config(source="running", target="candidate"))
        assert knob(session, "candidate") == ["7"]
        ok(session.unlock("candidate"))
        clean(session)


def confirmed(server):
    """Confirmed in its session, cancelled, left by its session, and confirmed by its name from another session."""
    with server.connect() as session:
        ok(edit(session, "<knob>1</knob>"))
        ok(session.commit(confirmed=True, timeout=300))
        assert knob(session) == ["1"]
        ok(session.commit())
        ok(edit(session, "<knob>2</knob>"))
        ok(session.commit(confirmed=True))
        ok(session.rpc("<cancel-commit/>"))
        assert knob(session) == ["1"], "the confirmed commit was cancelled"
        ok(session.discard())
        with server.connect() as other:
            ok(edit(other, "<knob>3</knob>"))
            ok(other.commit(confirmed=True, timeout=300))
            assert knob(session) == ["3"]
        # The client drops the connection; the server sees that soon.
        assert any(knob(session) == ["1"] for _ in range(1000)), "the session of the confirmed commit has ended"
        ok(session.discard())
        with server.connect() as other:
            ok(edit(other, "<knob>4</knob>"))
            ok(other.commit(confirmed=True, timeout=300, persist="token"))
        assert knob(session) == ["4"]
        refused(session.commit(persist_id="tokem"), "invalid-value", "persist-id")
        ok(session.commit(persist_id="token"))
        assert knob(session) == ["4"]
        clean(session)


def retrieval(server):
    """XPath filters and the treatment of defaults."""
    with server.connect() as session:
        ok(edit(session, "<knob>7</knob><item><name>a</name><size>1</size></item><item><name>b</name></item>"))
        ok(session.commit())
        # The client has no way to declare a prefix: a name without one is that name in any module.
        found = session.get_config(source="running", filter_='/gear/item[name="a"]/size', filter_type="xpath")
        assert texts(found, "//lx:size/text()") == ["1"] and texts(found, "//lx:name/text()") == ["a"]
        assert texts(found, "//lx:knob") == []
        for mode, modes in (("report-all", ["auto"]), ("report-all-tagged", ["auto"]), ("trim", []), ("explicit", [])):
            found = session.get_config(source="running", filter_=GEAR, default_type=mode)
            assert texts(found, "//lx:mode/text()") == modes, mode
            assert texts(found, "//lx:knob/text()") == ["7"], mode
        clean(session)


def nmda(server):
    """get-data and edit-data of RFC 8526."""
    with server.connect() as session:
        def get_data(store, more=""):
            only = f'<subtree-filter><gear xmlns="{LX}"/></subtree-filter>'
            return session.rpc(f'<get-data xmlns="{NMDA}" xmlns:ds="{DS}" xmlns:or="{OR}"><datastore>ds:{store}</datastore>'
                               f"{only}{more}</get-data>")

        def edit_data(store, inner):
            return session.rpc(f'<edit-data xmlns="{NMDA}" xmlns:ds="{DS}"><datastore>ds:{store}</datastore>'
                               f"{config(inner)}</edit-data>")

        ok(edit_data("candidate", "<knob>7</knob><item><name>a</name><text>one</text></item>"))
        assert texts(get_data("candidate"), "//lx:knob/text()") == ["7"]
        assert texts(get_data("running"), "//lx:knob/text()") == []
        ok(session.commit())
        for store in ("running", "intended", "operational"):
            assert texts(get_data(store), "//lx:knob/text()") == ["7"], store
        data = get_data("operational", "<max-depth>2</max-depth><with-origin/>")
        assert texts(data, "//lx:item/lx:text") == []
        assert texts(data, "//lx:gear/@*[local-name()='origin']") == ["or:intended"], data.result
        assert texts(data, "//lx:mode/@*[local-name()='origin']") == ["or:default"], data.result
        refused(edit_data("candidate", "<knob>many</knob>"), "invalid-value", "/lx:gear/lx:knob")
        refused(get_data("running", "<with-origin/>"), "invalid-value")
        clean(session)


def errors(server):
    with server.connect() as session, server.connect() as other:
        refused(edit(session, "<knob>many</knob>"), "invalid-value", "/lx:gear/lx:knob", "integer")
        refused(edit(session, "<nothing/>"), "unknown-element", "nothing")
        refused(edit(session, '<item nc:operation="delete"><name>ghost</name></item>'), "data-missing", "ghost")
        ok(edit(session, "<chosen>ghost</chosen>"))
        refused(session.commit(), "data-missing", "instance-required", "/lx:gear/lx:chosen")
        refused(session.lock("candidate"), "lock-denied", "<session-id>0</session-id>")
        ok(session.discard())
        ok(session.lock("candidate"))
        refused(other.lock("candidate"), "lock-denied", "session-id")
        refused(session.rpc("<frobnicate/>"), "operation-not-supported")
        # The client tells the messages when it is asked to drop namespaces.
        session.strip_namespaces = True
        failed = edit(session, "<knob>many</knob>")
        assert failed.failed and "many" in failed.error_messages[0], failed.error_messages
        session.strip_namespaces = False
        ok(session.unlock("candidate"))


def values(server):
    """Text that an encoder, a terminal or a chunk reader can spoil, and more of it than a terminal's line."""
    with server.connect() as session:
        for text in ("a&lt;b&amp;c", "\u00e4\u20ac\U0001f600", "^C^D\t~.", "#7", "##"):
            ok(edit(session, f"<item><name>v</name><text>{text}</text></item>"))
            found = texts(session.get_config(source="candidate", filter_=GEAR), "//lx:text/text()")
            assert found == [etree.fromstring(f"<t>{text}</t>").text], (text, found)
        ok(session.discard())
        # Over paramiko the client sends no more of a message than fits in one packet of SSH, and drops the rest.
        count = 2000 if server.where["transport"] == "system" else 300
        items = "".join(f"<item><name>item-{n}</name><size>{n + 1}</size></item>" for n in range(count))
        ok(edit(session, items))
        ok(session.commit())
        sizes = texts(session.get_config(source="running", filter_=GEAR), "//lx:size/text()")
        assert sorted(map(int, sizes)) == list(range(1, count + 1)), len(sizes)
        clean(session)


CHECKS = {check.__name__: check for check in (edits, confirmed, retrieval, nmda, errors, values)}


def main():
    if len(sys.argv) != 8 or sys.argv[7] not in CHECKS:
        sys.exit(f"{__doc__}\nchecks: {', '.join(CHECKS)}")
    CHECKS[sys.argv[7]](Server(*sys.argv[1:7]))


main()

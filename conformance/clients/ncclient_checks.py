"""Checks of the NETCONF server by an unmodified ncclient over SSH.

usage: ncclient_checks.py HOST PORT USER PRIVATE_KEY CHECK

Each check begins with an empty datastore and a module `lab-example`. A failed check ends with status 1 and a
traceback.
"""

import sys

from ncclient import manager
from ncclient.operations import RPCError
from ncclient.xml_ import to_ele
from lxml import etree

NC = "urn:ietf:params:xml:ns:netconf:base:1.0"
LX = "urn:catsd:lab:example"
NMDA = "urn:ietf:params:xml:ns:yang:ietf-netconf-nmda"
DS = "urn:ietf:params:xml:ns:yang:ietf-datastores"
OR = "urn:ietf:params:xml:ns:yang:ietf-origin"
NS = {"nc": NC, "lx": LX}


class Server:
    def __init__(self, host, port, user, key):
        self.where = dict(
            host=host,
            port=int(port),
            username=user,
            key_filename=key,
            hostkey_verify=False,
            allow_agent=False,
            look_for_keys=False,
            timeout=20,
        )

    def connect(self):
        return manager.connect(**self.where)


def config(inner):
    return f'<config xmlns="{NC}"><gear xmlns="{LX}" xmlns:nc="{NC}">{inner}</gear></config>'


def item(name, text=None, size=None, operation=None):
    attribute = f' nc:operation="{operation}"' if operation else ""
    text = f"<text>{text}</text>" if text else ""
    size = f"<size>{size}</size>" if size else ""
    return f"<item{attribute}><name>{name}</name>{text}{size}</item>"


def edit(session, inner, **options):
    return session.edit_config(target="candidate", config=config(inner), **options)


def gear(session, source="running", filter_inner=""):
    reply = session.get_config(source=source, filter=("subtree", f'<gear xmlns="{LX}">{filter_inner}</gear>'))
    return reply.data_ele


def names(data):
    return data.xpath("//lx:item/lx:name/text()", namespaces=NS)


def refused(call, tag, *, type=None, path=None, app_tag=None, info=None):
    """Runs `call`, which must be refused with these fields; gives the error."""
    try:
        call()
    except RPCError as error:
        said = f"tag={error.tag} type={error.type} path={error.path} app-tag={error.app_tag} info={error.info}"
        tags = tag if isinstance(tag, tuple) else (tag,)
        assert error.tag in tags, f"{tags} expected: {said}"
        assert error.severity == "error", said
        for name, wanted, found in (("type", type, error.type), ("app-tag", app_tag, error.app_tag)):
            assert wanted is None or wanted == found, f"{name} {wanted} expected: {said}"
        assert path is None or path in (error.path or ""), f"path with {path} expected: {said}"
        assert info is None or info in (error.info or ""), f"info with {info} expected: {said}"
        return error
    raise AssertionError(f"not refused; {tag} expected")


def hello(server):
    with server.connect() as session:
        have = list(session.server_capabilities)
        for wanted in ("base:1.0", "base:1.1", "candidate:1.0", "validate:1.1"):
            assert any(c.startswith(f"urn:ietf:params:netconf:{'' if 'base' in wanted else 'capability:'}{wanted}")
                       for c in have), f"{wanted} is not among {have}"
        assert any("yang-library" in c for c in have), have
        assert int(session.session_id) > 0


def get_config_filters(server):
    with server.connect() as session:
        edit(session, item("a", "one", 1) + item("b", "two", 2) + "<knob>7</knob>")
        session.commit()
        assert names(gear(session)) == ["a", "b"]
        # A selection node gives only itself, with the key of its entry.
        data = gear(session, filter_inner="<item><size/></item>")
        assert data.xpath("//lx:size/text()", namespaces=NS) == ["1", "2"]
        assert not data.xpath("//lx:text", namespaces=NS)
        # A content match gives the whole entry; blanks around the value do not count.
        data = gear(session, filter_inner="<item><name> b </name></item>")
        assert names(data) == ["b"] and data.xpath("//lx:text/text()", namespaces=NS) == ["two"]
        assert names(gear(session, filter_inner="<item><text>one</text></item>")) == ["a"]
        # Nothing asked for, nothing given.
        reply = session.get_config(source="running", filter=("subtree", '<none xmlns="urn:none"/>'))
        assert len(reply.data_ele) == 0, etree.tostring(reply.data_ele)
        empty = to_ele(f'<get-config xmlns="{NC}"><source><running/></source><filter type="subtree"/></get-config>')
        reply = session.dispatch(empty)
        assert not etree.fromstring(reply.xml.encode()).xpath("//nc:data/*", namespaces=NS), reply.xml


def get_state(server):
    with server.connect() as session:
        edit(session, "<knob>3</knob>")
        session.commit()
        data = session.get(filter=("subtree", f'<gear xmlns="{LX}"/>')).data_ele
        assert data.xpath("//lx:knob/text()", namespaces=NS) == ["3"]
        library = "urn:ietf:params:xml:ns:yang:ietf-yang-library"
        data = session.get(filter=("subtree", f'<yang-library xmlns="{library}"/>')).data_ele
        modules = data.xpath("//yl:module/yl:name/text()", namespaces={"yl": library})
        for wanted in ("ietf-cats", "cats-services", "lab-example"):
            assert wanted in modules, modules


def nmda(server):
    """get-data and edit-data of RFC 8526: datastores, origins and their filter, depth, defaults, and what is refused."""
    origin = f"{{{OR}}}origin"

    def get_data(store, more=""):
        request = f'<get-data xmlns="{NMDA}" xmlns:ds="{DS}" xmlns:or="{OR}"><datastore>{store}</datastore>{more}</get-data>'
        return etree.fromstring(session.dispatch(to_ele(request)).xml.encode())

    def edit_data(store, inner):
        session.dispatch(to_ele(
            f'<edit-data xmlns="{NMDA}" xmlns:ds="{DS}"><datastore>{store}</datastore>'
            f'<config><gear xmlns="{LX}" xmlns:nc="{NC}">{inner}</gear></config></edit-data>'))

    def found(data, path):
        return data.xpath(path, namespaces=NS)

    only = f'<subtree-filter><gear xmlns="{LX}"/></subtree-filter>'
    with server.connect() as session:
        edit_data("ds:candidate", "<knob>7</knob>" + item("a", "one"))
        assert found(get_data("ds:candidate", only), "//lx:knob/text()") == ["7"]
        assert not found(get_data("ds:running", only), "//lx:gear")
        session.commit()
        for store in ("ds:running", "ds:intended", "ds:operational"):
            assert found(get_data(store, only), "//lx:knob/text()") == ["7"], store
        shallow = get_data("ds:running", only + "<max-depth>2</max-depth>")
        assert found(shallow, "//lx:knob/text()") == ["7"] and not found(shallow, "//lx:item/lx:text")
        data = get_data("ds:operational", only + "<with-origin/>")
        assert found(data, "//lx:gear")[0].get(origin) == "or:intended", etree.tostring(data)
        assert found(data, "//lx:mode")[0].get(origin) == "or:default", etree.tostring(data)
        data = get_data("ds:operational", only + "<origin-filter>or:default</origin-filter>")
        assert found(data, "//lx:mode/text()") == ["auto"] and not found(data, "//lx:knob"), etree.tostring(data)
        data = get_data("ds:operational", only + "<negated-origin-filter>or:default</negated-origin-filter>")
        assert found(data, "//lx:knob/text()") == ["7"] and not found(data, "//lx:mode"), etree.tostring(data)
        data = get_data("ds:running", only + "<config-filter>false</config-filter>")
        assert not found(data, "//lx:knob"), etree.tostring(data)
        refused(lambda: get_data("ds:running", "<with-origin/>"), "invalid-value")
        refused(lambda: get_data("ds:nowhere"), "invalid-value")
        for store in ("ds:running", "ds:intended", "ds:operational"):
            refused(lambda: edit_data(store, "<knob>8</knob>"), ("invalid-value", "operation-not-supported"))
        refused(lambda: edit_data("ds:candidate", "<knob>many</knob>"), "invalid-value", path="knob")
        edit_data("ds:candidate", '<knob nc:operation="delete"/>')
        refused(lambda: edit_data("ds:candidate", '<knob nc:operation="delete"/>'), "data-missing", path="knob")
        session.discard_changes()


def edit_operations(server):
    with server.connect() as session:
        edit(session, item("a", "one", operation="create"))
        refused(lambda: edit(session, item("a", operation="create")), "data-exists", type="application", path="item")
        edit(session, item("a", size=5, operation="merge"))
        data = gear(session, "candidate")
        assert data.xpath("//lx:text/text() | //lx:size/text()", namespaces=NS) == ["one", "5"]
        edit(session, item("a", size=6, operation="replace"))
        data = gear(session, "candidate")
        assert data.xpath("//lx:text/text()", namespaces=NS) == []
        assert data.xpath("//lx:size/text()", namespaces=NS) == ["6"]
        edit(session, item("a", operation="delete"))
        refused(lambda: edit(session, item("a", operation="delete")), "data-missing", type="application", path="item")
        edit(session, item("a", operation="remove"))
        assert names(gear(session, "candidate")) == []


def default_operations(server):
    with server.connect() as session:
        edit(session, item("a", "one") + "<knob>1</knob>", default_operation="merge")
        edit(session, item("b"), default_operation="merge")
        assert names(gear(session, "candidate")) == ["a", "b"]
        edit(session, item("c"), default_operation="replace")
        data = gear(session, "candidate")
        assert names(data) == ["c"] and not data.xpath("//lx:knob", namespaces=NS)
        edit(session, item("d", operation="create"), default_operation="none")
        edit(session, item("c", operation="delete"), default_operation="none")
        assert names(gear(session, "candidate")) == ["d"]
        refused(
            lambda: edit(session, "<item><name>x</name><size nc:operation='create'>1</size></item>",
                         default_operation="none"),
            "data-missing",
        )


def edit_errors(server):
    with server.connect() as session:
        refused(lambda: edit(session, "<item><text>no key</text></item>"), "missing-element", info="name")
        refused(lambda: edit(session, "<nothing/>"), "unknown-element", info="nothing")
        refused(lambda: edit(session, item("a", size=1000001)), "invalid-value", path="size")
        refused(lambda: edit(session, "<knob>4294967296</knob>"), "invalid-value", path="knob")
        refused(lambda: edit(session, '<knob operation="delete">1</knob>'), "unknown-attribute", info="operation")
        unknown = f'<config xmlns="{NC}"><gear xmlns="urn:none"/></config>'
        refused(lambda: session.edit_config(target="candidate", config=unknown), "unknown-namespace", info="urn:none")
        refused(lambda: edit(session, '<knob nc:operation="frobnicate">1</knob>'), ("bad-attribute", "invalid-value"))
        assert len(gear(session, "candidate")) == 0, "a refused edit left something behind"


def choice_and_order(server):
    with server.connect() as session:
        edit(session, "<left>l</left>")
        edit(session, "<right>r</right>")
        session.commit()
        data = gear(session)
        assert not data.xpath("//lx:left", namespaces=NS) and data.xpath("//lx:right", namespaces=NS)
        yang = 'xmlns:y="urn:ietf:params:xml:ns:yang:1"'
        edit(session, "<tag>b</tag><tag>c</tag>")
        edit(session, f'<tag {yang} y:insert="first">a</tag>')
        edit(session, f'<tag {yang} y:insert="after" y:value="b">bb</tag>')
        tags = gear(session, "candidate").xpath("//lx:tag/text()", namespaces=NS)
        assert tags == ["a", "b", "bb", "c"], tags
        refused(
            lambda: edit(session, f'<tag {yang} y:insert="after" y:value="none">z</tag>'),
            "bad-attribute",
            app_tag="missing-instance",
        )


def commit_and_discard(server):
    with server.connect() as session:
        edit(session, "<knob>1</knob>")
        assert len(gear(session)) == 0, "an edit of the candidate showed in running"
        session.commit()
        assert gear(session).xpath("//lx:knob/text()", namespaces=NS) == ["1"]
        edit(session, "<knob>2</knob>")
        session.discard_changes()
        assert gear(session, "candidate").xpath("//lx:knob/text()", namespaces=NS) == ["1"]


def failed_commit(server):
    with server.connect() as session:
        edit(session, "<chosen>ghost</chosen><knob>9</knob>")
        refused(session.commit, "data-missing", type="application", path="chosen", app_tag="instance-required")
        assert len(gear(session)) == 0, "a failed commit changed running"
        assert gear(session, "candidate").xpath("//lx:knob/text()", namespaces=NS) == ["9"], "the candidate is lost"


def confirmed_commit(server):
    """Confirmed and kept, cancelled, left by its session, and confirmed by its name from another session."""
    def knob(session):
        return gear(session).xpath("//lx:knob/text()", namespaces=NS)

    with server.connect() as session:
        assert ":confirmed-commit" in session.server_capabilities
        edit(session, "<knob>1</knob>")
        session.commit(confirmed=True, timeout="300")
        session.commit()
        edit(session, "<knob>2</knob>")
        session.commit(confirmed=True)
        assert knob(session) == ["2"]
        session.cancel_commit()
        assert knob(session) == ["1"]
        other = server.connect()
        edit(other, "<knob>3</knob>")
        other.commit(confirmed=True)
        refused(session.commit, "in-use", type="protocol")
        refused(lambda: session.lock("running"), "lock-denied", info=other.session_id)
        other.close_session()
        assert knob(session) == ["1"], "the session of a confirmed commit has ended"
        other = server.connect()
        edit(other, "<knob>4</knob>")
        other.commit(confirmed=True, timeout="300", persist="token")
        other.close_session()
        assert knob(session) == ["4"]
        refused(lambda: session.commit(persist_id="tokem"), "invalid-value", info="persist-id")
        session.commit(persist_id="token")
        assert knob(session) == ["4"]


def validate(server):
    with server.connect() as session:
        edit(session, "<knob>1</knob>")
        session.validate(source="candidate")
        edit(session, "<chosen>ghost</chosen>")
        refused(lambda: session.validate(source="candidate"), "data-missing", app_tag="instance-required")
        session.discard_changes()
        edit(session, "<strict/>")
        refused(lambda: session.validate(source="candidate"), ("data-missing", "missing-element"), path="strict")


def locks(server):
    with server.connect() as first, server.connect() as second:
        first.lock("candidate")
        first.lock("running")
        holder = first.session_id
        refused(lambda: second.lock("candidate"), "lock-denied", type="protocol", info=holder)
        refused(lambda: edit(second, "<knob>1</knob>"), ("in-use", "lock-denied"))
        refused(second.commit, ("in-use", "lock-denied"))
        edit(first, "<knob>5</knob>")
        first.unlock("candidate")
        assert len(gear(first, "candidate")) == 0, "unlocking the candidate kept uncommitted changes"
        first.unlock("running")
        edit(second, "<knob>1</knob>")
        # A candidate with changes cannot be locked; nobody holds it.
        refused(lambda: first.lock("candidate"), "lock-denied", info="0")
        second.discard_changes()
        refused(lambda: first.unlock("candidate"), ("operation-failed", "invalid-value"))


def kill_session(server):
    with server.connect() as first:
        second = server.connect()
        second.lock("candidate")
        edit(second, "<knob>8</knob>")
        refused(lambda: first.kill_session(first.session_id), "invalid-value")
        first.kill_session(second.session_id)
        # The lock and the uncommitted changes went with the session.
        first.lock("candidate")
        assert len(gear(first, "candidate")) == 0
        first.unlock("candidate")


def close_session(server):
    first = server.connect()
    first.lock("running")
    first.close_session()
    with server.connect() as second:
        second.lock("running")
        second.unlock("running")


def copy_config(server):
    with server.connect() as session:
        inline = f'<source xmlns="{NC}"><config><gear xmlns="{LX}"><knob>4</knob></gear></config></source>'
        session.copy_config(source=inline, target="candidate")
        session.commit()
        assert gear(session).xpath("//lx:knob/text()", namespaces=NS) == ["4"]
        edit(session, "<knob>5</knob>")
        session.copy_config(source="running", target="candidate")
        assert gear(session, "candidate").xpath("//lx:knob/text()", namespaces=NS) == ["4"]
        refused(lambda: session.copy_config(source="candidate", target="candidate"), "invalid-value")


def url_files(server):
    """A configuration is saved to a file of the server, loaded from it, and the file is deleted."""
    with server.connect() as session:
        edit(session, "<knob>4</knob>")
        session.commit()
        session.copy_config(source="running", target="file:///saved.xml")
        edit(session, "<knob>5</knob>")
        session.commit()
        session.copy_config(source="file:///saved.xml", target="candidate")
        session.commit()
        assert gear(session).xpath("//lx:knob/text()", namespaces=NS) == ["4"]
        session.delete_config("file:///saved.xml")
        refused(lambda: session.copy_config(source="file:///saved.xml", target="candidate"), "invalid-value", info="url")
        refused(lambda: session.copy_config(source="file:///../running.journal", target="candidate"), "invalid-value")


def get_schema(server):
    with server.connect() as session:
        for module in ("ietf-cats", "cats-services", "ietf-routing", "lab-example"):
            text = session.get_schema(module).data
            assert f"module {module}" in text, text[:200]
        refused(lambda: session.get_schema("no-such-module"), "invalid-value")


def unknown_operations(server):
    with server.connect() as session:
        for rpc, tags in (
            (f'<frobnicate xmlns="{NC}"/>', ("operation-not-supported", "unknown-element")),
            ('<frobnicate xmlns="urn:none"/>', ("unknown-namespace",)),
            (f'<edit-config xmlns="{NC}"><config/></edit-config>', ("missing-element", "data-missing")),
        ):
            refused(lambda: session.dispatch(to_ele(rpc)), tags)
        # The session is as good as before.
        assert len(gear(session)) == 0


def write_values(server):
    """Values that an encoder can spoil come back as they were."""
    with server.connect() as session:
        for text in ("a&lt;b&amp;c", "]]&gt;]]&gt;", "\u00e4\u20ac\U0001f600", "<![CDATA[x<y&z]]>"):
            edit(session, item("v", text))
            wanted = etree.fromstring(f"<t>{text}</t>").text
            found = gear(session, "candidate").xpath("//lx:text/text()", namespaces=NS)
            assert found == [wanted], (wanted, found)


CATS = "urn:ietf:params:xml:ns:yang:ietf-cats"


def service(cs_id, name, address):
    return (
        f"<service><cs-id>{cs_id}</cs-id><name>{name}</name><address>{address}</address>"
        "<instance><csci-id>1</csci-id><egress>EF-1</egress><locator><address>198.51.100.11</address></locator>"
        "</instance></service>"
    )


def overlapping_services(server):
    """Two services that overlap in address, protocol and port are refused, and both are named."""
    classifier = "<traffic-classifier><cs-id>{}</cs-id><server-port>443</server-port><protocol>6</protocol></traffic-classifier>"
    services = service(1, "S1", "192.0.2.100") + service(2, "S2", "192.0.2.100")
    body = (
        f'<config xmlns="{NC}"><routing xmlns="urn:ietf:params:xml:ns:yang:ietf-routing"><cats xmlns="{CATS}">'
        f"<traffic-classifiers>{classifier.format(1)}{classifier.format(2)}</traffic-classifiers>"
        f'<services xmlns="urn:catsd:yang:cats-services">{services}</services></cats></routing></config>'
    )
    with server.connect() as session:
        session.edit_config(target="candidate", config=body)
        try:
            session.commit()
        except RPCError as error:
            for named in ("service[cs-id='1']", "service[cs-id='2']", "192.0.2.100"):
                assert named in error.message, error.message
        else:
            raise AssertionError("the overlap was committed")
        running = session.get_config(source="running").data_xml
        assert "S1" not in running and "S2" not in running


def slow_b(server):
    """On the path selector of the example: commits a computing time of 60 ms for instance B."""
    metric = (
        "<service-metric><cs-id>1</cs-id><csci-id>198.51.100.21</csci-id><source-type>static</source-type>"
        '<computing-time xmlns="urn:catsd:yang:cats-cps">60</computing-time></service-metric>'
    )
    body = (
        f'<config xmlns="{NC}"><routing xmlns="urn:ietf:params:xml:ns:yang:ietf-routing"><cats xmlns="{CATS}">'
        f"<service-metrics>{metric}</service-metrics></cats></routing></config>"
    )
    with server.connect() as session, session.locked("candidate"):
        session.edit_config(target="candidate", config=body)
        session.validate(source="candidate")
        session.commit()


EXEC = "urn:catsd:yang:cats-exec"


def select_dry_run(server):
    """On the path selector of the example: which instance a flow that enters at IF-1 would get."""
    with server.connect() as session:
        flow = (
            f'<select-dry-run xmlns="{EXEC}"><ingress>IF-1</ingress><client>192.0.2.10</client>'
            "<client-port>40000</client-port><destination>192.0.2.100</destination>%s</select-dry-run>"
        )
        reply = session.dispatch(to_ele(flow % "<port>443</port>"))
        found = etree.fromstring(reply.xml.encode())
        selected = found.xpath("x:selected/x:csci-id/text()", namespaces={"x": EXEC})
        assert selected == ["198.51.100.21"], reply.xml
        verdicts = found.xpath("x:candidate/x:verdict/text()", namespaces={"x": EXEC})
        assert sorted(verdicts) == ["ranked-lower", "selected"], reply.xml
        refused(lambda: session.dispatch(to_ele(flow % "")), ("missing-element",))


NCN = "urn:ietf:params:xml:ns:yang:ietf-netconf-notifications"
EVENT = "urn:ietf:params:xml:ns:netconf:notification:1.0"
MANAGE = "urn:ietf:params:xml:ns:netmod:notification"


def told(session, name, namespace=NCN):
    """The next notification, which must be this one."""
    notification = session.take_notification(timeout=20)
    assert notification is not None, f"no {name} in time"
    element = notification.notification_ele
    assert element.tag == f"{{{EVENT}}}notification", element.tag
    found = element.find(f"{{{namespace}}}{name}")
    assert found is not None, f"{name} expected: {notification.notification_xml}"
    assert element.find(f"{{{EVENT}}}eventTime").text.endswith("Z")
    return found


def notifications(server):
    """N02, N04 and N08, and requests beside a subscription."""
    with server.connect() as listener, server.connect() as session:
        refused(lambda: listener.create_subscription(stream_name="NO-STREAM"), "bad-element", info="stream")
        refused(lambda: listener.create_subscription(start_time="2999-01-01T00:00:00Z"), "bad-element", info="startTime")
        listener.create_subscription(filter=("subtree", f'<netconf-config-change xmlns="{NCN}"/>'))
        edit(session, "<knob>7</knob>" + item("a", size=3))
        session.commit()
        change = told(listener, "netconf-config-change")
        by = change.find(f"{{{NCN}}}changed-by")
        assert by.find(f"{{{NCN}}}session-id").text == session.session_id, etree.tostring(change)
        assert by.find(f"{{{NCN}}}username").text == server.where["username"], etree.tostring(change)
        targets = {}
        for one in change.findall(f"{{{NCN}}}edit"):
            target = one.find(f"{{{NCN}}}target")
            prefix = target.text[1:].split(":")[0]
            assert target.nsmap[prefix] == LX, etree.tostring(one)
            targets[target.text.rsplit(":", 1)[1] if "[" not in target.text else "item"] = one
        assert sorted(targets) == ["item", "knob"], etree.tostring(change)
        # The session of a subscription asks and is answered meanwhile.
        assert names(gear(listener)) == ["a"]
        edit(listener, "<knob>8</knob>")
        listener.commit()
        assert told(listener, "netconf-config-change") is not None


def notification_filters(server):
    """A filter by XPath, and events that it does not select."""
    with server.connect() as listener, server.connect() as session:
        listener.create_subscription(filter=("xpath", ({"n": NCN}, "/n:netconf-config-change[n:edit/n:operation='delete']")))
        edit(session, item("a"))
        session.commit()
        edit(session, item("a", operation="delete"))
        session.commit()
        change = told(listener, "netconf-config-change")
        operations = [one.text for one in change.iter(f"{{{NCN}}}operation")]
        assert operations == ["delete"], etree.tostring(change)


def notification_replay(server):
    """N06 and P47: every event once in the order of time, one replayComplete, and the end."""
    with server.connect() as session:
        for knob in range(1, 21):
            edit(session, f"<knob>{knob}</knob>")
            session.commit()
    with server.connect() as listener:
        listener.create_subscription(start_time="2020-01-01T00:00:00Z", stop_time="2020-01-02T00:00:00Z")
        told(listener, "replayComplete", MANAGE)
        told(listener, "notificationComplete", MANAGE)
        listener.create_subscription(
            start_time="2020-01-01T00:00:00Z", filter=("subtree", f'<netconf-config-change xmlns="{NCN}"/>')
        )
        times = []
        for _ in range(20):
            change = told(listener, "netconf-config-change")
            times.append(change.getparent().find(f"{{{EVENT}}}eventTime").text)
        assert times == sorted(times), times


SN = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
YP = "urn:ietf:params:xml:ns:yang:ietf-yang-push"
PUSHED = {"sn": SN, "yp": YP, "lx": LX}


def establish(session, trigger, selection=f'<gear xmlns="{LX}"/>'):
    reply = session.dispatch(to_ele(
        f'<establish-subscription xmlns="{SN}" xmlns:yp="{YP}" xmlns:ds="{DS}">'
        "<yp:datastore>ds:running</yp:datastore>"
        f"<yp:datastore-subtree-filter>{selection}</yp:datastore-subtree-filter>{trigger}</establish-subscription>"
    ))
    return etree.fromstring(reply.xml.encode()).findtext(f"{{{SN}}}id")


def update(session, name, timeout=10):
    """The next notification, which has that name."""
    notification = session.take_notification(timeout=timeout)
    assert notification is not None, f"no {name} within {timeout} s"
    found = notification.notification_ele.find(f"{{{YP if name.startswith('push') else SN}}}{name}")
    assert found is not None, notification.notification_xml
    return found


def push_on_change(server):
    """A subscription on change: all of it first, then what changed, then nothing any more."""
    with server.connect() as writer, server.connect() as reader:
        edit(writer, item("a", size=1))
        writer.commit()
        subscription = establish(reader, "<yp:on-change/>")
        whole = update(reader, "push-update")
        assert whole.findtext("yp:id", namespaces=PUSHED) == subscription
        names = whole.xpath("yp:datastore-contents/lx:gear/lx:item/lx:name/text()", namespaces=PUSHED)
        assert names == ["a"], names
        edit(writer, item("a", size=2) + item("b"))
        writer.commit()
        changes = update(reader, "push-change-update")
        edits = changes.xpath("yp:datastore-changes/yp:yang-patch/yp:edit", namespaces=PUSHED)
        told = [(e.findtext("yp:operation", namespaces=PUSHED), e.findtext("yp:target", namespaces=PUSHED)) for e in edits]
        wanted = [("replace", "/lab-example:gear/item=a/size"), ("create", "/lab-example:gear/item=b")]
        assert told == wanted, told
        reader.dispatch(to_ele(f'<resync-subscription xmlns="{YP}"><id>{subscription}</id></resync-subscription>'))
        whole = update(reader, "push-update")
        names = whole.xpath("yp:datastore-contents/lx:gear/lx:item/lx:name/text()", namespaces=PUSHED)
        assert names == ["a", "b"], names
        delete = to_ele(f'<delete-subscription xmlns="{SN}"><id>{subscription}</id></delete-subscription>')
        refused(lambda: writer.dispatch(delete), ("invalid-value",))
        writer.dispatch(to_ele(f'<kill-subscription xmlns="{SN}"><id>{subscription}</id></kill-subscription>'))
        update(reader, "subscription-terminated")
        edit(writer, item("c"))
        writer.commit()
        assert reader.take_notification(timeout=1) is None


def push_periodic(server):
    """Periodic updates beside requests of the same session."""
    with server.connect() as session:
        subscription = establish(session, "<yp:periodic><yp:period>20</yp:period></yp:periodic>")
        for _ in range(5):
            update(session, "push-update")
            gear(session)
        state = session.get(filter=("subtree", f'<subscriptions xmlns="{SN}"/>')).data_ele
        ids = state.xpath("sn:subscriptions/sn:subscription/sn:id/text()", namespaces=PUSHED)
        assert ids == [subscription], ids
        session.dispatch(to_ele(f'<delete-subscription xmlns="{SN}"><id>{subscription}</id></delete-subscription>'))


def push_errors(server):
    """What cannot be subscribed to is refused by its identity, with a hint."""
    with server.connect() as session:
        try:
            establish(session, "<yp:periodic><yp:period>1</yp:period></yp:periodic>")
        except RPCError as error:
            assert (error.tag, error.app_tag) == ("invalid-value", "ietf-yang-push:period-unsupported"), error.xml
            assert "period-hint>10<" in etree.tostring(error.xml).decode(), error.xml
        else:
            raise AssertionError("a period of 10 ms was taken")


CHECKS = {check.__name__: check for check in (
    hello, get_config_filters, get_state, nmda, edit_operations, default_operations, edit_errors, choice_and_order,
    commit_and_discard, failed_commit, confirmed_commit, validate, locks, kill_session, close_session, copy_config, url_files, get_schema,
    unknown_operations, write_values, overlapping_services, slow_b, select_dry_run, notifications, notification_filters,
    notification_replay, push_on_change, push_periodic, push_errors,
)}


def main():
    if len(sys.argv) != 6 or sys.argv[5] not in CHECKS:
        sys.exit(f"{__doc__}\nchecks: {', '.join(CHECKS)}")
    CHECKS[sys.argv[5]](Server(*sys.argv[1:5]))


main()

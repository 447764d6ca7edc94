"""A subscriber to alarms, by an unmodified ncclient, while the engine goes away and comes back.

usage: ncclient_alarm_checks.py HOST PORT USER PRIVATE_KEY FOLDER

Makes the file FOLDER/listens, and the engine is to go; then FOLDER/acknowledged, and it is to come back. A failed check
ends with status 1 and a traceback.
"""

import pathlib
import sys

from lxml import etree
from ncclient import manager
from ncclient.xml_ import to_ele

AL = "urn:ietf:params:xml:ns:yang:ietf-alarms"
SN = "urn:ietf:params:xml:ns:yang:ietf-subscribed-notifications"
YP = "urn:ietf:params:xml:ns:yang:ietf-yang-push"
DS = "urn:ietf:params:xml:ns:yang:ietf-datastores"
NS = {"al": AL, "yp": YP}
KIND = "component-not-connected"
ENTRY = (
    "<resource>cats-engined</resource>"
    f'<alarm-type-id xmlns:ca="urn:catsd:yang:cats-alarms">ca:{KIND}</alarm-type-id><alarm-type-qualifier/>'
)


def told(session, path, timeout=60):
    """The next notification that has this, which is none of another alarm."""
    while True:
        notification = session.take_notification(timeout=timeout)
        assert notification is not None, f"no {path} in time"
        found = notification.notification_ele.xpath(path, namespaces=NS)
        if found:
            return found[0]
        assert KIND not in notification.notification_xml, notification.notification_xml


def action(session, content):
    reply = session.dispatch(to_ele(
        f'<action xmlns="urn:ietf:params:xml:ns:yang:1"><alarms xmlns="{AL}"><alarm-list>{content}</alarm-list></alarms></action>'
    ))
    return etree.fromstring(reply.xml.encode())


def entry(session):
    """The leafs of the alarm, and its changes of state."""
    filter = f'<alarms xmlns="{AL}"><alarm-list><alarm><resource>cats-engined</resource></alarm></alarm-list></alarms>'
    data = session.get(filter=("subtree", filter)).data_ele
    (alarm,) = data.xpath(f"//al:alarm[contains(al:alarm-type-id, '{KIND}')]", namespaces=NS)
    leafs = {etree.QName(leaf).localname: leaf.text for leaf in alarm if not len(leaf)}
    return leafs, alarm.xpath("al:status-change/al:perceived-severity/text()", namespaces=NS)


def main(host, port, user, key, folder):
    connect = lambda: manager.connect(
        host=host, port=int(port), username=user, key_filename=key, hostkey_verify=False, allow_agent=False,
        look_for_keys=False, timeout=30,
    )
    raised = f"al:alarm-notification[contains(al:alarm-type-id, '{KIND}')]"
    with connect() as listener, connect() as reader, connect() as session:
        listener.create_subscription()
        reader.dispatch(to_ele(
            f'<establish-subscription xmlns="{SN}" xmlns:yp="{YP}" xmlns:ds="{DS}"><yp:datastore>ds:operational'
            f'</yp:datastore><yp:datastore-subtree-filter><alarms xmlns="{AL}"><alarm-list/></alarms>'
            "</yp:datastore-subtree-filter><yp:on-change/></establish-subscription>"
        ))
        told(reader, "yp:push-update")
        pathlib.Path(folder, "listens").touch()
        event = told(listener, raised)
        assert event.findtext("al:resource", namespaces=NS) == "cats-engined", etree.tostring(event)
        assert event.findtext("al:perceived-severity", namespaces=NS) == "critical", etree.tostring(event)
        told(reader, f"yp:push-change-update[contains(string(.), '{KIND}')]")
        leafs, _ = entry(session)
        assert leafs["is-cleared"] == "false", leafs
        action(session, f"<alarm>{ENTRY}<set-operator-state><state>ack</state><text>mine</text></set-operator-state></alarm>")
        acted = told(listener, "al:alarms/al:alarm-list/al:alarm/al:operator-action")
        assert acted.findtext("al:operator", namespaces=NS) == user, etree.tostring(acted)
        pathlib.Path(folder, "acknowledged").touch()
        event = told(listener, raised)
        assert event.findtext("al:perceived-severity", namespaces=NS) == "cleared", etree.tostring(event)
        leafs, changes = entry(session)
        assert leafs["is-cleared"] == "true" and changes[:2] == ["cleared", "critical"], (leafs, changes)
        compressed = action(session, "<compress-alarms><resource>cats-engined</resource></compress-alarms>")
        assert compressed.findtext(f".//{{{AL}}}compressed-alarms") == "1", etree.tostring(compressed)
        assert entry(session)[1] == ["cleared"]
        purged = action(session, "<purge-alarms><alarm-clearance-status>cleared</alarm-clearance-status></purge-alarms>")
        assert int(purged.findtext(f".//{{{AL}}}purged-alarms")) >= 1, etree.tostring(purged)


main(*sys.argv[1:])

"""Checks of NETCONF over TLS and of call home by an unmodified ncclient.

usage: ncclient_tls_checks.py tls HOST PORT CERTIFICATE KEY AUTHORITY
       ncclient_tls_checks.py call_home HOST PORT USER PRIVATE_KEY

A failed check ends with status 1 and a traceback.
"""

import ssl
import sys

from ncclient import manager

CSYS = "urn:catsd:yang:cats-system"
MONITORING = "urn:ietf:params:xml:ns:yang:ietf-netconf-monitoring"
SYSTEM = (
    '<routing xmlns="urn:ietf:params:xml:ns:yang:ietf-routing">'
    f'<cats xmlns="urn:ietf:params:xml:ns:yang:ietf-cats"><system xmlns="{CSYS}">%s</system></cats></routing>'
)
AL = "urn:ietf:params:xml:ns:yang:ietf-alarms"
ALARMS = (
    f'<alarms xmlns="{AL}"><alarm-list><alarm><is-cleared>false</is-cleared></alarm></alarm-list></alarms>'
)
NS = {"s": CSYS, "m": MONITORING, "al": AL}


def texts(data, path):
    return data.xpath(path + "/text()", namespaces=NS)


def transports(session):
    filter = f'<netconf-state xmlns="{MONITORING}"><sessions/></netconf-state>'
    data = session.get(filter=("subtree", filter)).data_ele
    own = f"//m:session[m:session-id='{session.session_id}']"
    return [text.split(":")[-1] for text in texts(data, own + "/m:transport")], texts(data, own + "/m:username")


def tls(host, port, certificate, key, authority):
    """A session of the user that the certificate names; a configuration of some size comes back whole."""
    session = manager.connect_tls(
        host=host, port=int(port), certfile=certificate, keyfile=key, ca_certs=authority,
        protocol=ssl.PROTOCOL_TLS_CLIENT, check_hostname=True, timeout=20,
    )
    with session:
        assert transports(session) == (["netconf-tls"], ["admin"]), transports(session)
        schema = session.get_schema("ietf-cats").data
        assert "module ietf-cats" in schema and schema.rstrip().endswith("}"), len(schema)


def call_home(host, port, user, key):
    """Listens, is called, and reads how that stands."""
    session = manager.call_home(
        host=host, port=int(port), username=user, key_filename=key, hostkey_verify=False, allow_agent=False,
        look_for_keys=False, timeout=30,
    )
    with session:
        assert transports(session) == (["netconf-ssh"], [user]), transports(session)
        data = session.get(filter=("subtree", SYSTEM % "<call-home/>")).data_ele
        assert texts(data, "//s:connection/s:state") == ["connected"], texts(data, "//s:connection/*")
        assert texts(data, "//s:connection/s:endpoint") == ["2"]
        assert texts(data, "//s:connection/s:remote-address") == [f"{host}:{port}"]
        data = session.get(filter=("subtree", ALARMS)).data_ele
        assert not any("cannot-call" in kind for kind in texts(data, "//al:alarm/al:alarm-type-id"))


CHECKS = {check.__name__: check for check in (tls, call_home)}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    CHECKS[sys.argv[1]](*sys.argv[2:])


main()

//! What is written and read: data of the module probe-bench, and services of our own modules.

use cats_conformance::configuration::cats;
use std::fmt::Write;

/// Selects all of probe-bench and nothing else, so that both servers answer the same.
pub(super) const READ: &str = "<get-config><source><running/></source><filter type=\"subtree\">\
                               <bench xmlns=\"urn:probe:bench\"/></filter></get-config>";

/// One leaf.
pub(super) fn knob(value: usize) -> String {
    format!("<bench xmlns=\"urn:probe:bench\"><knob>{value}</knob></bench>")
}

/// One leaf of an entry that a session has for itself.
pub(super) fn own(session: usize, value: usize) -> String {
    format!(
        "<bench xmlns=\"urn:probe:bench\"><item><name>own-{session:02}</name><size>{value}</size></item></bench>"
    )
}

/// List entries of five leaves.
pub(super) fn items(count: usize) -> String {
    let mut text = String::from("<bench xmlns=\"urn:probe:bench\" xmlns:pb=\"urn:probe:bench\">");
    for item in 0..count {
        // A String takes everything.
        let _ = write!(
            text,
            "<item><name>item-{item:06}</name><descr>entry number {item} of the bench</descr><size>{}</size>\
             <enabled>false</enabled><shape>pb:round</shape></item>",
            item % 1_000_000 + 1
        );
    }
    text + "</bench>"
}

/// Deletes all list entries that [`items`] made, and the leaf.
pub(super) const NO_ITEMS: &str = "<bench xmlns=\"urn:probe:bench\" \
                                   xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"remove\"/>";

/// How many list entries a reply has.
pub(super) fn count(reply: &str) -> usize {
    reply.matches("<name>item-").count()
}

/// Services with one address each and without instances, from the number `first` on.
pub(super) fn services(first: usize, count: usize) -> String {
    let mut text = String::from("<services xmlns=\"urn:catsd:yang:cats-services\">");
    for number in first..first + count {
        let _ = write!(
            text,
            "<service><cs-id>{number}</cs-id><name>service-{number}</name><address>10.{}.{}.{}</address></service>",
            number >> 16 & 255,
            number >> 8 & 255,
            number & 255
        );
    }
    cats(&(text + "</services>"))
}

/// Deletes a service.
pub(super) fn without_service(number: usize) -> String {
    cats(&format!(
        "<services xmlns=\"urn:catsd:yang:cats-services\"><service \
         xmlns:nc=\"urn:ietf:params:xml:ns:netconf:base:1.0\" nc:operation=\"delete\"><cs-id>{number}</cs-id></service>\
         </services>"
    ))
}

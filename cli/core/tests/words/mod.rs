//! A schema in the shape of the product's, and words for it.

use cats_cli_core::token::{Token, commands};
use cats_yang_tree::build::{SchemaBuilder, Scope, Ty};
use cats_yang_tree::schema::Schema;

/// Routing with the container that the CLI calls home, and a top-level container of another module.
pub(crate) fn schema() -> Schema {
    SchemaBuilder::new()
        .module("ietf-routing", "urn:rt", "rt", |m| {
            m.identity("protocol", &[]);
            m.identity("static", &["protocol"]);
            m.container("routing", |_| {});
        })
        .module("ietf-cats", "urn:cats", "cats", |m| {
            m.augment("routing", |r| {
                r.container("cats", |c| {
                    c.container("services", |s| {
                        s.list("service", &["cs-id"], |l| {
                            l.leaf("cs-id", Ty::uint32());
                            l.leaf("name", Ty::string().length(1, 64))
                                .description("The name. Shown everywhere.");
                            l.leaf("enabled", Ty::boolean()).default("true");
                            l.leaf_list("address", Ty::string());
                            l.leaf("via", Ty::identityref(&["ietf-routing:protocol"]));
                            l.list("instance", &["csci-id"], |i| {
                                i.leaf("csci-id", Ty::uint32());
                                i.leaf("egress", Ty::string());
                                i.action(
                                    "drain",
                                    |p| drop(p.leaf("within", Ty::uint32())),
                                    |o| drop(o.leaf("left", Ty::uint32())),
                                );
                            });
                        });
                    });
                    c.presence("ingress", |i| {
                        i.leaf("hold", Ty::uint32().range(1, 60000));
                    });
                    c.state(|s| {
                        s.leaf("flows", Ty::uint32());
                    });
                });
            });
        })
        .module("probe", "urn:probe", "pr", |m| {
            m.container("bench", |b| {
                b.leaf("knob", Ty::uint32());
                b.leaf("flag", Ty::empty());
            });
            weigh(m);
        })
        .build()
        .unwrap()
}

fn weigh(m: &mut Scope<'_>) {
    m.rpc(
        "weigh",
        |i| {
            i.leaf("slowly", Ty::empty());
            i.leaf("by", Ty::enumeration(&["hand", "scale"])).description("By what. Not how.");
            i.container("bounds", |b| {
                b.leaf("most", Ty::uint32().range(1, 9));
            });
            i.list("item", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.leaf("pieces", Ty::uint32());
            });
            i.leaf_list("mark", Ty::string());
        },
        |o| {
            o.leaf("total", Ty::uint32());
            o.list("item", &["name"], |l| {
                l.leaf("name", Ty::string());
                l.leaf("grams", Ty::uint32());
            });
        },
    )
    .description("Weighs. Nothing is bought.");
}

/// The words of one command.
pub(crate) fn line(text: &str) -> Vec<Token> {
    commands(text).unwrap().into_iter().next().unwrap_or_default()
}

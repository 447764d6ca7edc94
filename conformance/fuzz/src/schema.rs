//! The schema that the targets work on: every type and every kind of node once, in two modules that are entwined, and
//! every kind of constraint in a third one.

use cats_yang_tree::build::{SchemaBuilder, Scope, Ty};
use cats_yang_tree::schema::{Canonical, Schema};
use std::sync::OnceLock;

/// Namespace of the first module, prefix `fa`.
pub(crate) const A: &str = "urn:fuzz:a";
/// Namespace of the second module, prefix `fb`.
pub(crate) const B: &str = "urn:fuzz:b";

/// Namespace of the third module, prefix `fc`, which is about constraints.
pub(crate) const C: &str = "urn:fuzz:c";

static SCHEMA: OnceLock<Schema> = OnceLock::new();

/// The schema, made once.
pub(crate) fn schema() -> &'static Schema {
    SCHEMA.get_or_init(|| {
        let built = SchemaBuilder::new()
            .module("fuzz-a", A, "fa", first)
            .module("fuzz-b", B, "fb", second)
            .module("fuzz-c", C, "fc", third);
        built.build().expect("the schema is right")
    })
}

fn first(m: &mut Scope<'_>) {
    m.identity("shape", &[]);
    m.identity("round", &["shape"]);
    m.container("top", |c| {
        c.container("scalars", scalars);
        c.container("texts", texts);
        c.container("lists", lists);
        c.presence("here", |c| {
            c.leaf("needed", Ty::uint8()).mandatory();
        });
        c.choice("either", |choice| {
            choice.case("one", |c| {
                c.leaf("left", Ty::string());
                c.leaf("left-too", Ty::uint8()).default("3");
            });
            choice.case("two", |c| {
                c.choice("inner", |choice| {
                    choice.case("x", |c| {
                        c.leaf("right", Ty::string());
                    });
                    choice.case("y", |c| {
                        c.container("box", |c| {
                            c.leaf("in", Ty::string());
                        });
                    });
                });
            });
        });
        c.anydata("any");
    });
    let what = |scope: &mut Scope<'_>| {
        scope.leaf("what", Ty::string());
    };
    m.rpc("do", what, |_| {});
    m.notification("said", what);
}

fn scalars(c: &mut Scope<'_>) {
    c.leaf("i8", Ty::int8());
    c.leaf("i16", Ty::int16().range(-300, -1).range(1, 300));
    c.leaf("i32", Ty::int32());
    c.leaf("i64", Ty::int64());
    c.leaf("u8", Ty::uint8()).default("7");
    c.leaf("u16", Ty::uint16());
    c.leaf("u32", Ty::uint32().range(1, 1_000_000));
    c.leaf("u64", Ty::uint64());
    c.leaf("dec", Ty::decimal64(2)).default("1.50");
    c.leaf("dec18", Ty::decimal64(18));
    c.leaf("bool", Ty::boolean()).default("true");
    c.leaf("empty", Ty::empty());
    c.leaf("enum", Ty::enumeration(&["up", "down", "left right"]));
    c.leaf("bits", Ty::bits(&["a", "b", "c"]));
    c.leaf("bin", Ty::binary().length(0, 16));
    c.leaf("form", Ty::identityref(&["shape"]));
    c.leaf("place", Ty::instance_identifier(false));
    let members = vec![Ty::uint8(), Ty::boolean(), Ty::enumeration(&["auto"]), Ty::decimal64(1)];
    c.leaf("union", Ty::union(members));
}

fn texts(c: &mut Scope<'_>) {
    c.leaf("text", Ty::string()).default("plain");
    c.leaf("short", Ty::string().length(1, 4));
    c.leaf("word", Ty::string().pattern("[a-c]+x?"));
    c.leaf("mac", Ty::string().canonical(Canonical::Lowercase));
    c.leaf("v4", Ty::string().canonical(Canonical::Ipv4Address));
    c.leaf("v6", Ty::string().canonical(Canonical::Ipv6Address));
    c.leaf("v4-prefix", Ty::string().canonical(Canonical::Ipv4Prefix));
    c.leaf("v6-prefix", Ty::string().canonical(Canonical::Ipv6Prefix));
    c.leaf("when", Ty::string().canonical(Canonical::DateAndTime));
    c.leaf("path", Ty::string().canonical(Canonical::XPath));
}

fn lists(c: &mut Scope<'_>) {
    c.list("item", &["name"], |l| {
        l.leaf("name", Ty::string().length(1, 64));
        l.leaf("size", Ty::uint32());
        l.leaf("on", Ty::boolean()).default("true");
        l.container("deep", |c| {
            c.list("sub", &["id"], |l| {
                l.leaf("id", Ty::uint8());
                l.leaf("text", Ty::string());
            });
        });
    })
    .unique(&["size"]);
    c.list("pair", &["form", "id"], |l| {
        l.leaf("id", Ty::int16());
        l.leaf("form", Ty::identityref(&["shape"]));
        l.leaf("place", Ty::instance_identifier(false));
    })
    .elements(0, Some(4));
    c.list("rule", &["id"], |l| {
        l.leaf("id", Ty::uint16());
        l.leaf("act", Ty::enumeration(&["permit", "deny"])).mandatory();
        l.leaf_list("tag", Ty::string()).user_ordered();
    })
    .user_ordered();
    c.leaf_list("tag", Ty::string()).user_ordered();
    c.leaf_list("number", Ty::int8());
    c.leaf_list("preset", Ty::string()).default("a").default("b");
    c.leaf_list("forms", Ty::identityref(&["shape"]));
    c.leaf("chosen", Ty::leafref("../item/name"));
}

fn second(m: &mut Scope<'_>) {
    m.identity("square", &["fuzz-a:shape"]);
    m.container("top", |c| {
        c.leaf("text", Ty::string());
        c.leaf("form", Ty::identityref(&["fuzz-a:shape"]));
    });
    m.leaf("lone", Ty::string());
    m.augment("top/scalars", |c| {
        c.leaf("size", Ty::uint8());
        c.container("more", |c| {
            c.leaf("form", Ty::identityref(&["fuzz-a:shape"]));
        });
    });
    m.augment("top/lists/item", |l| {
        l.leaf("note", Ty::string());
        l.leaf("name", Ty::string());
    });
    m.state(|s| {
        s.container("seen", |s| {
            s.leaf("count", Ty::uint64());
            s.leaf_list("mark", Ty::uint64());
            s.list("event", &[], |l| {
                l.leaf("what", Ty::string());
                l.list("part", &[], |l| {
                    l.leaf("text", Ty::string());
                });
            });
        });
    });
}

fn third(m: &mut Scope<'_>) {
    m.container("rules", |c| {
        c.leaf("a", Ty::uint8()).must(". > 1 or not(../fuzz-c:b)");
        c.leaf("b", Ty::string()).when("../fuzz-c:a = 5");
        c.leaf("d", Ty::string()).default("x").when("../fuzz-c:b");
        c.leaf("total", Ty::uint8()).must(". = count(../fuzz-c:list)");
        c.leaf("far", Ty::string()).must("/fuzz-a:top/fuzz-a:left = .");
        c.leaf("here", Ty::string()).must("../fuzz-c:opt/fuzz-c:level != 3");
        c.leaf("one", Ty::leafref("../list/k"));
        c.leaf_list("some", Ty::leafref("../list/v")).elements(0, Some(3));
        c.leaf_list("sum", Ty::uint8()).must("sum(../fuzz-c:sum) < 20").user_ordered();
        c.list("list", &["k"], |l| {
            l.leaf("k", Ty::string());
            l.leaf("v", Ty::uint8()).default("1");
            l.leaf("next", Ty::leafref("../../list/k")).must("not(. = ../fuzz-c:k)");
            l.leaf("need", Ty::uint8()).mandatory().when("../fuzz-c:v = 3");
            l.container("in", |c| {
                c.leaf("w", Ty::uint8());
                c.leaf("x", Ty::uint8())
                    .must("../../../fuzz-c:list[fuzz-c:k = current()/../../fuzz-c:next]/fuzz-c:v > .");
            });
        })
        .unique(&["v", "in/w"])
        .must("fuzz-c:in/fuzz-c:w or not(preceding-sibling::fuzz-c:list[fuzz-c:v = 2])");
        c.presence("opt", |c| {
            c.leaf("must-be", Ty::uint8()).mandatory();
            c.leaf("level", Ty::uint8()).default("3");
        })
        .when("not(../fuzz-c:total)");
        c.choice("which", |choice| {
            choice.case("first", |c| {
                c.leaf("x1", Ty::uint8()).mandatory();
                c.leaf("x2", Ty::uint8()).default("4").must("../fuzz-c:x1 < .");
            });
            choice.case("second", |c| {
                c.container("box", |c| {
                    c.leaf_list("y", Ty::uint8()).elements(2, None);
                });
            });
        });
    });
}

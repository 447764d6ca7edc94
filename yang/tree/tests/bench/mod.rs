//! The module `probe-bench` built by hand, and short-hands to edit and read it.
#![allow(dead_code)] // each test file uses a part
#![allow(clippy::expect_used)] // a failure here is a failed test

use cats_yang_tree::build::{SchemaBuilder, Ty};
use cats_yang_tree::error::{Error, ErrorInfo};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::{DefaultOperation, Defaults, Ops, Subtree, Tree, edit, view, xml};

pub(crate) const NS: &str = "urn:probe:bench";

pub(crate) fn schema() -> Schema {
    SchemaBuilder::new()
        .module("probe-bench", NS, "pb", |m| {
            m.identity("shape", &[]);
            m.identity("round", &["shape"]);
            m.identity("square", &["shape"]);
            m.container("bench", |c| {
                c.leaf("knob", Ty::uint32());
                c.leaf("mode", Ty::string()).default("auto");
                c.leaf_list("tag", Ty::string()).user_ordered();
                c.list("item", &["name"], |l| {
                    l.leaf("name", Ty::string().length(1, 64));
                    l.leaf("descr", Ty::string());
                    l.leaf("size", Ty::uint32().range(1, 1_000_000));
                    l.leaf("enabled", Ty::boolean()).default("true");
                    l.leaf("shape", Ty::identityref(&["shape"]));
                });
                c.list("rule", &["id"], |l| {
                    l.leaf("id", Ty::uint16());
                    l.leaf("action", Ty::enumeration(&["permit", "deny"])).mandatory();
                })
                .user_ordered();
                c.presence("pres", |c| {
                    c.leaf("must-leaf", Ty::uint8()).mandatory();
                });
                c.choice("ch", |ch| {
                    ch.case("a", |c| {
                        c.leaf("ca", Ty::string());
                    });
                    ch.case("b", |c| {
                        c.leaf("cb", Ty::string());
                    });
                });
                c.leaf("item-ref", Ty::leafref("../item/name"));
                c.leaf("inst", Ty::instance_identifier(false));
            });
        })
        .build()
        .expect("probe-bench is a good schema")
}

pub(crate) struct Bench {
    pub(crate) schema: Schema,
    pub(crate) tree: Tree,
}

impl Bench {
    /// With `<bench>` holding `content`.
    pub(crate) fn with(content: &str) -> Self {
        let mut bench = Self { schema: schema(), tree: Tree::new() };
        bench.edit(content).expect("the starting content is right");
        bench
    }

    /// Merges `content` of `<bench>`.
    pub(crate) fn edit(&mut self, content: &str) -> Result<(), Vec<Error>> {
        self.config(DefaultOperation::Merge, &in_bench(content))
    }

    /// Applies the content of `<config>`.
    pub(crate) fn config(&mut self, default: DefaultOperation, config: &str) -> Result<(), Vec<Error>> {
        let ops = Ops::from_xml_str(&self.schema, &in_config(config), default)?;
        self.tree = edit(&self.tree, &self.schema, ops)?;
        Ok(())
    }

    /// The single error of an edit, which must leave the tree as it was.
    pub(crate) fn refused(&mut self, default: DefaultOperation, config: &str) -> Error {
        let before = self.tree.clone();
        let mut errors = self.config(default, config).expect_err("the edit is refused");
        assert!(self.tree.ptr_eq(&before), "a refused edit changes nothing");
        assert_eq!(errors.len(), 1, "{errors:?}");
        errors.remove(0)
    }

    /// The content of `<bench>` in explicit mode.
    pub(crate) fn xml(&self) -> String {
        content(&view(&self.tree, &self.schema, Defaults::Explicit).to_xml())
    }

    /// What the content of `<filter>` selects, with `defaults`.
    pub(crate) fn filtered(&self, defaults: Defaults, filter: &str) -> String {
        let text = format!("<filter>{filter}</filter>");
        let filter = Subtree::parse(&self.schema, &text).expect("the filter is XML");
        view(&self.tree, &self.schema, defaults).filter(&filter).to_xml()
    }
}

pub(crate) fn in_config(config: &str) -> String {
    format!(
        "<config xmlns=\"{}\" xmlns:nc=\"{}\" xmlns:yang=\"{}\">{config}</config>",
        xml::NETCONF,
        xml::NETCONF,
        xml::YANG
    )
}

pub(crate) fn in_bench(content: &str) -> String {
    format!("<bench xmlns=\"{NS}\">{content}</bench>")
}

fn content(xml: &str) -> String {
    let start = format!("<bench xmlns=\"{NS}\">");
    xml.strip_prefix(&start).and_then(|xml| xml.strip_suffix("</bench>")).unwrap_or(xml).to_owned()
}

pub(crate) fn path(error: &Error) -> &str {
    error.path.as_ref().map_or("", |path| &path.0)
}

pub(crate) fn element(name: &str) -> ErrorInfo {
    ErrorInfo::BadElement(name.to_owned())
}

pub(crate) fn attribute(name: &str) -> ErrorInfo {
    ErrorInfo::BadAttribute(name.to_owned())
}

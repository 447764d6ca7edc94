//! Two modules, `shop` and `extra`, which augments it, some data, and short-hands.

use cats_yang_tree::build::{SchemaBuilder, Scope, Ty};
use cats_yang_tree::schema::{Expression, ModuleId, NodeId, Schema};
use cats_yang_tree::xpath;
use cats_yang_tree::xpath::{Accessible, Budget, Evaluation, Expr, Outcome, Unprefixed, XPathError};
use cats_yang_tree::{InstancePath, Ops, Tree, edit};

pub(crate) const DATA: &str = r#"<config>
<shop xmlns="urn:shop">
  <name>Corner</name>
  <tag>z</tag><tag>a</tag><tag>m</tag>
  <item><name>b</name><price>2.50</price><stock>7</stock><kind xmlns:s="urn:shop">s:apple</kind>
    <flags>cold fresh</flags><grade>fine</grade><note>two  words</note>
    <extra xmlns="urn:extra">more</extra>
    <size><width>10</width><height>1</height><label>w10</label></size>
    <size><width>2</width><height>3</height></size></item>
  <item><name>a</name><price>10.00</price><stock>0</stock><on>false</on><grade>plain</grade></item>
  <item><name>c</name><stock>7</stock><kind xmlns:s="urn:shop">s:fruit</kind></item>
  <rule><id>30</id><act>deny</act></rule><rule><id>10</id><act>allow</act></rule>
  <rule><id>20</id><act>deny</act></rule>
  <best>b</best>
  <place xmlns:s="urn:shop">/s:shop/s:item[s:name='a']</place>
  <vault><code>9</code></vault>
  <cash>5</cash>
</shop>
</config>"#;

pub(crate) fn schema() -> Schema {
    let schema = SchemaBuilder::new()
        .module("shop", "urn:shop", "s", |m| {
            m.identity("kind", &[]);
            m.identity("fruit", &["kind"]);
            m.identity("apple", &["fruit"]);
            m.identity("tool", &["kind"]);
            m.container("shop", |c| {
                c.leaf("name", Ty::string());
                c.leaf("open", Ty::boolean()).default("true");
                c.leaf_list("tag", Ty::string()).user_ordered();
                c.leaf_list("hour", Ty::uint8()).default("9").default("17");
                c.container("policy", |c| {
                    c.leaf("limit", Ty::uint32()).default("3");
                    c.leaf("text", Ty::string());
                });
                goods(c);
                c.list("rule", &["id"], |l| {
                    l.leaf("id", Ty::uint16());
                    l.leaf("act", Ty::enumeration(&["allow", "deny"]));
                })
                .user_ordered();
                c.leaf("best", Ty::leafref("../item/name"));
                c.leaf("place", Ty::instance_identifier(false));
                c.presence("vault", |c| {
                    c.leaf("code", Ty::uint8());
                    c.leaf("depth", Ty::uint8()).default("1");
                });
                payment(c);
                c.state(|s| {
                    s.leaf("sold", Ty::uint32());
                    s.container("clock", |c| {
                        c.leaf("time", Ty::string());
                    });
                });
            });
        })
        .module("extra", "urn:extra", "x", |m| {
            m.augment("shop/item", |c| {
                c.leaf("extra", Ty::string());
                c.leaf("guarded", Ty::string()).default("seen");
            });
        })
        .build()
        .expect("a good schema");
    // guarded is there only for what is in stock.
    let guarded = node(&schema, "/shop:shop/item/extra:guarded");
    let when = expression(&schema, "../s:stock > 0");
    let mut schema = schema;
    schema.nodes[guarded.0 as usize].whens.push(when);
    schema.indexed()
}

fn goods(c: &mut Scope<'_>) {
    c.list("item", &["name"], |l| {
        l.leaf("name", Ty::string());
        l.leaf("price", Ty::decimal64(2));
        l.leaf("stock", Ty::uint32());
        l.leaf("on", Ty::boolean()).default("true");
        l.leaf("kind", Ty::identityref(&["kind"]));
        l.leaf("flags", Ty::bits(&["fresh", "cold", "soft"]));
        l.leaf("grade", Ty::enumeration(&["plain", "fine"]));
        l.leaf("note", Ty::string());
        l.list("size", &["width", "height"], |l| {
            l.leaf("height", Ty::uint8());
            l.leaf("width", Ty::uint8());
            l.leaf("label", Ty::string());
        });
    });
}

fn payment(c: &mut Scope<'_>) {
    c.choice("pay", |ch| {
        ch.case("coins", |c| {
            c.leaf("cash", Ty::uint8());
            c.leaf("change", Ty::boolean()).default("true");
        });
        ch.case("plastic", |c| {
            c.leaf("card", Ty::string());
            c.leaf("pin", Ty::boolean()).default("false");
        });
    });
}

/// As in module `shop`.
pub(crate) fn expression(schema: &Schema, text: &str) -> Expression {
    let module = |name: &str| schema.module_by_name(name).expect("a module");
    Expression {
        text: text.to_owned(),
        prefixes: vec![("s".to_owned(), module("shop")), ("x".to_owned(), module("extra"))],
        module: module("shop"),
        on_parent: false,
    }
}

pub(crate) fn node(schema: &Schema, path: &str) -> NodeId {
    let found = schema.data_nodes().find(|node| schema.path_of(node.id) == path);
    found.expect("a node of the schema").id
}

pub(crate) struct Shop {
    pub(crate) schema: Schema,
    pub(crate) tree: Tree,
    pub(crate) accessible: Accessible,
}

impl Shop {
    pub(crate) fn open() -> Self {
        Self::with(DATA)
    }

    pub(crate) fn with(data: &str) -> Self {
        let schema = schema();
        let ops = Ops::from_state_xml(&schema, data).expect("good data");
        let tree = edit(&Tree::new(), &schema, ops).expect("data that fit");
        Self { schema, tree, accessible: Accessible::Configuration }
    }

    /// Unprefixed names are of module `shop`.
    pub(crate) fn scope(&self) -> xpath::Scope {
        let shop: ModuleId = self.schema.module_by_name("shop").expect("a module");
        xpath::Scope::of_expression(&expression(&self.schema, "")).unprefixed(Unprefixed::Module(shop))
    }

    pub(crate) fn read(&self, text: &str) -> Result<Expr, XPathError> {
        Expr::parse(&self.schema, text, self.scope())
    }

    pub(crate) fn outcome(
        &self,
        context: &str,
        text: &str,
        budget: &mut Budget,
    ) -> Result<Outcome, XPathError> {
        let expression = self.read(text)?;
        let mut evaluation = Evaluation::new(&self.schema, &self.tree, self.accessible);
        let path = InstancePath::parse(&self.schema, context).expect("a path");
        let place = evaluation.place(&path).expect("the context node exists");
        expression.evaluate(&mut evaluation, place, budget)
    }

    /// The value at a context node: paths of nodes as from the shop, with a blank between, or the value as a string.
    pub(crate) fn at(&self, context: &str, text: &str) -> String {
        let outcome = self.outcome(context, text, &mut Budget::new(100_000));
        match outcome.unwrap_or_else(|error| panic!("{text}: {error}")) {
            Outcome::Nodes(paths) => {
                let short = |path: &InstancePath| {
                    let path = path.render(&self.schema).0;
                    path.strip_prefix("/shop:shop/").map_or(path.replace("/shop:shop", "shop"), str::to_owned)
                };
                paths.iter().map(short).collect::<Vec<_>>().join(" ")
            }
            Outcome::String(text) => text,
            Outcome::Number(_) => self.at(context, &format!("string({text})")),
            Outcome::Boolean(truth) => truth.to_string(),
        }
    }

    pub(crate) fn of(&self, text: &str) -> String {
        self.at("/shop:shop", text)
    }

    pub(crate) fn error(&self, text: &str) -> String {
        match self.outcome("/", text, &mut Budget::new(100_000)) {
            Ok(outcome) => panic!("{text} is {outcome:?}"),
            Err(error) => error.to_string(),
        }
    }
}

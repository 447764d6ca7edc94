//! yang/tree's XPath against libyang's, over random data and random expressions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may
#![allow(unsafe_code)] // libyang's evaluator for values of all types has no safe wrapper

#[allow(dead_code)] // yang/tree's own tests use more of it
#[path = "../../tree/tests/xpath/maker.rs"]
mod maker;

use cats_yang_schema::{ModuleSource, load};
use cats_yang_tree::schema::Schema;
use cats_yang_tree::xpath::{Accessible, Budget, Evaluation, Expr, Kind, Outcome, Scope};
use cats_yang_tree::{DefaultOperation, InstancePath, Ops, Tree, edit};
use maker::{Dice, Maker, data};
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString};
use std::ptr;
use yang5::context::{Context, ContextFlags, EmbeddedModuleKey};
use yang5::data::{DataFormat, DataParserFlags, DataTree, DataValidationFlags};
use yang5::ffi;

const SHOP: &str = r#"module shop {
  yang-version 1.1; namespace "urn:shop"; prefix s; revision 2026-11-29;
  identity kind; identity fruit { base kind; } identity apple { base fruit; } identity tool { base kind; }
  container shop {
    leaf name { type string; }
    leaf open { type boolean; default true; }
    leaf-list tag { type string; ordered-by user; }
    leaf-list hour { type uint8; default 9; default 17; }
    container policy { leaf limit { type uint32; default 3; } leaf text { type string; } }
    list item { key name;
      leaf name { type string; } leaf price { type decimal64 { fraction-digits 2; } } leaf stock { type uint32; }
      leaf on { type boolean; default true; } leaf kind { type identityref { base kind; } }
      leaf flags { type bits { bit fresh; bit cold; bit soft; } }
      leaf grade { type enumeration { enum plain; enum fine { value 7; } } }
      list size { key "width height"; leaf height { type uint8; } leaf width { type uint8; } leaf label { type string; } }
    }
    list rule { key id; ordered-by user; leaf id { type uint16; } leaf act { type enumeration { enum allow; enum deny; } } }
    leaf best { type leafref { path "../item/name"; require-instance false; } }
    container vault { presence "x"; leaf code { type uint8; } leaf depth { type uint8; default 1; } }
    choice pay {
      case coins { leaf cash { type uint8; } leaf change { type boolean; default true; } }
      case plastic { leaf card { type string; } leaf pin { type boolean; default false; } }
    }
  }
}"#;

const EXTRA: &str = r#"module extra {
  yang-version 1.1; namespace "urn:extra"; prefix x; import shop { prefix s; } revision 2026-11-29;
  augment /s:shop/s:item { leaf extra { type string; } leaf guarded { when "../s:stock > 0"; type string; default seen; } }
}"#;

/// What libyang says: paths of nodes, or a string.
fn theirs(tree: &DataTree<'_>, context: *const ffi::lyd_node, text: &str, nodes: bool) -> Result<String, ()> {
    let text = CString::new(text).unwrap();
    let mut set: *mut ffi::ly_set = ptr::null_mut();
    let mut string: *mut std::ffi::c_char = ptr::null_mut();
    // SAFETY: the tree lives through the call; the results are freed below, each as libyang says.
    unsafe {
        let result = ffi::lyd_eval_xpath4(
            context,
            tree.reference().unwrap().as_raw(),
            ptr::null(),
            text.as_ptr(),
            ffi::LY_VALUE_FORMAT::LY_VALUE_JSON,
            ptr::null_mut(),
            ptr::null(),
            ptr::null_mut(),
            if nodes { &mut set } else { ptr::null_mut() },
            if nodes { ptr::null_mut() } else { &mut string },
            ptr::null_mut(),
            ptr::null_mut(),
        );
        if result != ffi::LY_ERR::LY_SUCCESS {
            return Err(());
        }
        if !nodes {
            let text = CStr::from_ptr(string).to_str().unwrap().to_owned();
            libc_free(string.cast());
            return Ok(text);
        }
        let count = usize::try_from((*set).count).unwrap();
        let found =
            if count == 0 { &[] } else { std::slice::from_raw_parts((*set).__bindgen_anon_1.dnodes, count) };
        let path = |node: &*mut ffi::lyd_node| {
            let path = ffi::lyd_path(*node, ffi::LYD_PATH_TYPE::LYD_PATH_STD, ptr::null_mut(), 0);
            let text = CStr::from_ptr(path).to_str().unwrap().to_owned();
            libc_free(path.cast());
            text
        };
        let paths: Vec<String> = found.iter().map(path).collect();
        ffi::ly_set_free(set, None);
        Ok(paths.join(" "))
    }
}

// SAFETY: the C library has this function, with this signature.
unsafe extern "C" {
    /// What libyang allocates for its caller is freed with this.
    #[link_name = "free"]
    fn libc_free(pointer: *mut std::ffi::c_void);
}

fn ours(schema: &Schema, tree: &Tree, context: &InstancePath, text: &str) -> Result<String, String> {
    let expression = Expr::parse(schema, text, Scope::of_modules()).map_err(|error| error.to_string())?;
    let text = if expression.kind() == Kind::Nodes { text.to_owned() } else { format!("string({text})") };
    let expression = Expr::parse(schema, &text, Scope::of_modules()).map_err(|error| error.to_string())?;
    let mut evaluation = Evaluation::new(schema, tree, Accessible::Configuration);
    let place = evaluation.place(context).ok_or("no such place")?;
    let outcome = expression.evaluate(&mut evaluation, place, &mut Budget::new(1_000_000));
    match outcome.map_err(|error| error.to_string())? {
        Outcome::Nodes(paths) => {
            Ok(paths.iter().map(|path| path.render(schema).0).collect::<Vec<_>>().join(" "))
        }
        Outcome::String(text) => Ok(text),
        other => Err(format!("{other:?}")),
    }
}

/// Both evaluators for the same modules.
fn both(judge: impl FnOnce(&Schema, &Context)) {
    let modules = [ModuleSource::extra(SHOP).unwrap(), ModuleSource::extra(EXTRA).unwrap()];
    let compiled = load(&modules).unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut context = Context::new(ContextFlags::NO_YANGLIBRARY).unwrap();
    let key = |name: &'static str| EmbeddedModuleKey::new(name, None, None, None);
    let embedded = HashMap::from([(key("shop"), SHOP), (key("extra"), EXTRA)]);
    context.set_embedded_modules(&embedded);
    for name in ["shop", "extra"] {
        context.load_module(name, None, &[]).unwrap();
    }
    judge(compiled.schema(), &context);
}

/// The same configuration for both.
fn trees<'c>(schema: &Schema, context: &'c Context, xml: &str) -> (Tree, DataTree<'c>) {
    let config = format!("<config>{xml}</config>");
    let ops = Ops::from_xml_str(schema, &config, DefaultOperation::Merge).unwrap();
    let tree = edit(&Tree::new(), schema, ops).unwrap();
    let (format, flags) = (DataFormat::XML, DataParserFlags::empty());
    let parsed = DataTree::parse_string(context, xml, format, flags, DataValidationFlags::PRESENT);
    (tree, parsed.unwrap())
}

fn gives_nodes(schema: &Schema, text: &str) -> bool {
    let expression = Expr::parse(schema, text, Scope::of_modules());
    expression.unwrap_or_else(|error| panic!("{text}: {error}")).kind() == Kind::Nodes
}

#[test]
fn random_expressions_have_the_values_that_libyang_gives() {
    both(|schema, context| {
        let (mut compared, mut met) = (0, BTreeSet::new());
        for seed in 0..400 {
            let mut dice = Dice(seed);
            let (tree, parsed) = trees(schema, context, &data(&mut dice));
            let places: Vec<_> = parsed.traverse().collect();
            let places: Vec<_> = places.iter().collect();
            for _ in 0..50 {
                let at = dice.pick(&places);
                let path = InstancePath::parse(schema, &at.path()).unwrap();
                let mut maker = Maker { schema, dice: &mut dice, indexable: false, plain: true };
                let text = maker.expression(path.node(), 3);
                let theirs = theirs(&parsed, at.as_raw(), &text, gives_nodes(schema, &text));
                let theirs = theirs.unwrap_or_else(|()| panic!("libyang refuses {text}"));
                let ours = ours(schema, &tree, &path, &text);
                assert_eq!(ours.as_ref(), Ok(&theirs), "{text} at {} of seed {seed}", at.path());
                compared += 1;
                met.insert(theirs);
            }
        }
        assert!(compared == 20_000 && met.len() > 500, "{compared} compared, {} values", met.len());
    });
}

/// What random expressions leave out: YANG's functions, values that are not canonical, keys, positions.
#[test]
fn the_functions_of_yang_and_canonical_values_are_those_of_libyang() {
    let xml = "<shop xmlns=\"urn:shop\"><name>x</name>\
        <item><name>a</name><price>2.5</price><stock>7</stock><kind xmlns:q=\"urn:shop\">q:apple</kind>\
        <flags>cold fresh</flags><grade>fine</grade><size><width>1</width><height>2</height></size></item>\
        <item><name>b</name><stock>0</stock><on>false</on><kind>fruit</kind></item>\
        <rule><id>30</id><act>deny</act></rule><rule><id>10</id></rule><best>a</best><vault/></shop>";
    both(|schema, context| {
        let (tree, parsed) = trees(schema, context, xml);
        for text in [
            "enum-value(/shop:shop/shop:item[shop:name='a']/shop:grade)",
            "enum-value(/shop:shop/shop:rule[1]/shop:act)",
            "bit-is-set(/shop:shop/shop:item[shop:name='a']/shop:flags, 'cold')",
            "bit-is-set(/shop:shop/shop:item[shop:name='a']/shop:flags, 'soft')",
            "deref(/shop:shop/shop:best)",
            "deref(/shop:shop/shop:best)/../shop:stock",
            "/shop:shop/shop:item[shop:kind = 'shop:apple']",
            "/shop:shop/shop:item[derived-from(shop:kind, 'shop:fruit')]",
            "/shop:shop/shop:item[derived-from-or-self(shop:kind, 'shop:fruit')]",
            "/shop:shop/shop:item[shop:price = '2.50']",
            "/shop:shop/shop:item[shop:price = 2.5]",
            "/shop:shop/shop:item[shop:stock = '007']",
            "/shop:shop/shop:item[shop:flags = 'cold fresh']",
            "string(/shop:shop/shop:item[shop:name='a']/shop:flags)",
            "string(/shop:shop/shop:item[shop:name='a']/shop:kind)",
            "string(/shop:shop/shop:item[shop:name='a']/shop:price)",
            "/shop:shop/shop:hour[. = 17]",
            "/shop:shop/shop:policy/shop:limit = 3",
            "/shop:shop/shop:vault/shop:depth | /shop:shop/shop:change | /shop:shop/shop:pin",
            "/shop:shop/shop:item[extra:guarded]",
            "/shop:shop/shop:item/shop:size[shop:height = 2][shop:width = '1']",
            "/shop:shop/shop:rule[last()]",
            "/shop:shop/shop:rule[2]/preceding-sibling::shop:rule",
            "name(/shop:shop/shop:item[1]/extra:guarded)",
        ] {
            let theirs = theirs(&parsed, ptr::null(), text, gives_nodes(schema, text));
            let ours = ours(schema, &tree, &InstancePath::default(), text);
            assert_eq!(ours.ok(), theirs.ok(), "{text}");
        }
    });
}

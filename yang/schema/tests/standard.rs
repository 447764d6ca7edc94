//! The default module set, as it compiles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test may

use cats_yang_schema::{Compiled, Document, ModuleSource, default_modules, load};
use cats_yang_tree::schema::{Canonical, Integer, Node, NodeId, NodeKind, Schema, Type};
use std::sync::OnceLock;

fn compiled() -> &'static Compiled {
    static COMPILED: OnceLock<Compiled> = OnceLock::new();
    COMPILED.get_or_init(|| load(&default_modules()).expect("the default modules compile"))
}

/// What of ietf-cats nothing here reads or tells is not offered either.
#[test]
fn what_of_ietf_cats_is_not_built_is_deviated_away() {
    let schema = compiled().schema();
    let names = ["location", "forwarded-packets", "forwarded-bytes", "notify"];
    for name in names {
        let module = |node: &&Node| schema.modules[usize::from(node.module.0)].name == "ietf-cats";
        let found = schema.nodes.iter().filter(module).find(|node| node.name == name);
        assert!(found.is_none(), "{name}");
    }
}

/// The node at a path of plain names, choices and cases included.
fn find<'a>(schema: &'a Schema, path: &str) -> &'a Node {
    let mut children: &[NodeId] = &schema.roots;
    let mut found = None;
    for name in path.split('/') {
        let id = children.iter().find(|id| schema.nodes[id.0 as usize].name == name);
        let node = &schema.nodes[id.unwrap_or_else(|| panic!("{name} of {path}")).0 as usize];
        children = &node.children;
        found = Some(node);
    }
    found.unwrap()
}

#[test]
fn the_default_modules_compile_without_a_fault() {
    let schema = compiled().schema();
    assert_eq!(schema.faults(), &[] as &[String]);
    for name in ["ietf-cats", "ietf-routing", "ietf-netconf", "ietf-yang-library", "cats-exec"] {
        assert!(schema.modules.iter().any(|module| module.name == name && module.implemented), "{name}");
    }
    for name in ["ietf-inet-types", "ietf-yang-types", "cats-types"] {
        assert!(schema.modules.iter().any(|module| module.name == name && !module.implemented), "{name}");
    }
    assert!(schema.nodes.iter().all(|node| node.name != "rpc-error"), "libyang's own node");
    for name in ["yang", "default"] {
        assert!(!schema.modules.iter().any(|module| module.name == name), "{name} is libyang's own");
    }
}

#[test]
fn every_node_of_configuration_is_ours_or_of_access_control_and_the_deviations_say_so() {
    let schema = compiled().schema();
    let top = schema.roots.iter().map(|id| &schema.nodes[id.0 as usize]).filter(|node| node.config);
    assert_eq!(
        top.map(|node| node.name.as_str()).collect::<Vec<_>>(),
        ["alarms", "nacm", "routing", "filters", "system"]
    );
    let system = find(schema, "system");
    let children = system.children.iter().map(|id| schema.nodes[id.0 as usize].name.as_str());
    assert_eq!(children.collect::<Vec<_>>(), ["authentication"]);
    let routing = find(schema, "routing");
    let children = routing.children.iter().map(|id| schema.nodes[id.0 as usize].name.as_str());
    assert_eq!(children.collect::<Vec<_>>(), ["cats"]);
    for name in [
        "ietf-alarms",
        "ietf-cats",
        "ietf-interfaces",
        "ietf-network-instance",
        "ietf-routing",
        "ietf-system",
    ] {
        let module = schema.modules.iter().find(|module| module.name == name).unwrap();
        assert_eq!(module.deviations, ["cats-deviations"], "{name}");
    }
}

/// Whoever reads a hash can guess at the password elsewhere.
#[test]
fn hashes_of_passwords_are_shown_to_none_but_who_is_permitted() {
    let password = find(compiled().schema(), "system/authentication/user/password");
    assert!(password.flags.default_deny_all && password.flags.sensitive);
    assert!(!find(compiled().schema(), "system/authentication/user/authorized-key").flags.default_deny_all);
}

#[test]
fn every_id_is_larger_than_its_parents_and_names_its_place() {
    for (index, node) in compiled().schema().nodes.iter().enumerate() {
        assert_eq!(node.id, NodeId(u32::try_from(index).unwrap()));
        assert!(node.parent.is_none_or(|parent| parent < node.id), "{}", node.name);
        assert!(node.children.iter().all(|child| *child > node.id), "{}", node.name);
    }
}

#[test]
fn the_nodes_of_ietf_cats_have_their_types_defaults_and_keys() {
    let schema = compiled().schema();
    let timeout = find(schema, "routing/cats/base/flow-timeout");
    let NodeKind::Leaf { ty, default, units, .. } = &timeout.kind else { panic!("{timeout:?}") };
    assert!(matches!(ty.base, Type::Integer { kind: Integer::U32, .. }));
    assert_eq!((default.as_deref(), units.as_deref()), (Some("120"), Some("seconds")));

    let metric = find(schema, "routing/cats/service-metrics/service-metric");
    let NodeKind::List { keys, .. } = &metric.kind else { panic!("{metric:?}") };
    let keys: Vec<&str> = keys.iter().map(|id| schema.nodes[id.0 as usize].name.as_str()).collect();
    assert_eq!(keys, ["cs-id", "csci-id", "source-type"]);

    let counter = find(schema, "routing/cats/traffic-classifiers/traffic-classifier/matched-bytes");
    assert!(!counter.config);
    let NodeKind::Leaf { ty, .. } = &counter.kind else { panic!("{counter:?}") };
    let module = &schema.modules[usize::from(ty.module.unwrap().0)].name;
    assert_eq!((ty.name.as_str(), module.as_str()), ("zero-based-counter64", "ietf-yang-types"));
}

#[test]
fn a_cs_id_is_a_union_whose_members_keep_their_typedefs() {
    let schema = compiled().schema();
    let id = find(schema, "routing/cats/base/service-policy/cs-id");
    let NodeKind::Leaf { ty, .. } = &id.kind else { panic!("{id:?}") };
    assert_eq!(ty.name, "cs-id");
    let Type::Union(members) = &ty.base else { panic!("{ty:?}") };
    let member = |index: usize| (members[index].name.as_str(), &members[index].base);
    assert!(matches!(member(0), ("uint32", Type::Integer { kind: Integer::U32, .. })));
    assert!(matches!(member(1), ("ipv4-address", Type::String { canonical: Canonical::Ipv4Address, .. })));
    assert!(matches!(member(2), ("ipv6-address", Type::String { canonical: Canonical::Ipv6Address, .. })));
    let module = &schema.modules[usize::from(members[2].module.unwrap().0)].name;
    assert_eq!(module, "ietf-inet-types");
}

#[test]
fn identities_know_all_their_ancestors() {
    let schema = compiled().schema();
    let identity = |name: &str| schema.identities.iter().find(|identity| identity.name == name).unwrap();
    let ancestors: Vec<&str> = identity("running")
        .ancestors
        .iter()
        .map(|id| schema.identities[id.0 as usize].name.as_str())
        .collect();
    assert!(ancestors.contains(&"conventional") && ancestors.contains(&"datastore"), "{ancestors:?}");
}

#[test]
fn get_schema_serves_every_module_and_only_its_own_revision() {
    let compiled = compiled();
    for module in &compiled.schema().modules {
        let text = compiled.source(&module.name, module.revision.as_deref()).unwrap();
        assert!(text.contains(&format!("module {}", module.name)), "{}", module.name);
        assert_eq!(compiled.source(&module.name, Some("1999-01-01")), None);
    }
    assert_eq!(compiled.source("no-such-module", None), None);
    assert_eq!(compiled.content_id().len(), 32);
}

const VALID: &str = r#"<routing xmlns="urn:ietf:params:xml:ns:yang:ietf-routing">
    <cats xmlns="urn:ietf:params:xml:ns:yang:ietf-cats"><base><enable>true</enable>
    <service-policy><cs-id>7</cs-id><policy-type>base-on-sm-nm</policy-type></service-policy></base></cats></routing>"#;

#[test]
fn a_valid_configuration_passes_in_xml_and_in_json() {
    let compiled = compiled();
    assert_eq!(compiled.validate(Document::Xml(VALID)), Ok(Default::default()));
    let json = r#"{"ietf-routing:routing":{"ietf-cats:cats":{"base":{"service-policy":[{"cs-id":7}]}}}}"#;
    assert_eq!(compiled.validate(Document::Json(json)), Ok(Default::default()));
    assert_eq!(compiled.validate(Document::Xml("")), Ok(Default::default()));
}

#[test]
fn a_module_that_does_not_compile_is_named_with_the_reason() {
    let mut modules = default_modules();
    let text = "module broken { namespace \"urn:b\"; prefix b; leaf l { type no-such-type; } }";
    modules.push(ModuleSource::extra(text).unwrap());
    let errors = load(&modules).err().expect("the module is refused");
    assert!(errors.iter().any(|error| error.message.contains("no-such-type")), "{errors:?}");
    let unknown = "module lonely { namespace \"urn:l\"; prefix l; import nowhere { prefix n; } }";
    let errors = load(&[ModuleSource::extra(unknown).unwrap()]).err().expect("the import is refused");
    assert!(errors[0].message.contains("lonely") && errors[0].message.contains("nowhere"), "{errors:?}");
}

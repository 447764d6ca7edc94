//! The reconcile plan of static objects.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::type_complexity)] // tests

mod scene;

use cats_datapath_core::{
    AccessInterface, DeliveryConfig, EgressConfig, Objects, Plan, RouteAction, Sids, Table, check_config,
};
use cats_engine_types::{CsciId, Encaps, Encapsulation, Locator, Segments, TenantId};
use scene::config;
use std::collections::BTreeMap;

fn full() -> cats_datapath_core::ForwarderConfig {
    let mut config = config();
    let ingress = config.ingress.as_mut().unwrap();
    ingress.access = vec![AccessInterface { name: "eth0".to_owned(), tenant: TenantId(0) }];
    ingress.on_link.insert("192.0.2.100".parse().unwrap());
    ingress.on_link.insert("2001:db8::100".parse().unwrap());
    ingress.return_sids = Sids { v4: "fc00::4".parse().ok(), v6: "fc00::6".parse().ok() };
    let segments = Segments::try_from(vec!["fc00:9::4".parse().unwrap()]).unwrap();
    let away = Encapsulation::Srv6 { mode: Encaps::Reduced, segments };
    config.egress = Some(EgressConfig {
        sids: Sids { v4: "fc00::14".parse().ok(), v6: None },
        deliveries: vec![DeliveryConfig {
            csci_id: CsciId::number(1).unwrap(),
            locator: Locator { address: "198.51.100.21".parse().unwrap(), port: None },
            protocol: None,
            next_hop: "198.51.100.254".parse().ok(),
            interface: None,
        }],
        owners: BTreeMap::from([
            ("203.0.113.0/24".parse().unwrap(), away),
            ("192.0.2.0/24".parse().unwrap(), Encapsulation::None),
        ]),
    });
    config
}

#[test]
fn from_nothing_everything_is_set_and_a_second_plan_is_empty() {
    let desired = Objects::desired(&full());
    let plan = Plan::between(&Objects::default(), &desired);
    let routes: Vec<String> =
        plan.set_routes.iter().map(|(key, _)| format!("{:?} {}", key.table, key.destination)).collect();
    assert_eq!(
        routes,
        [
            "Main 192.0.2.100/32",
            "Main fc00::4/128",
            "Main fc00::6/128",
            "Main fc00::14/128",
            "Owners 192.0.2.0/24",
            "Owners 203.0.113.0/24",
            "Deliveries 198.51.100.21/32",
        ]
    );
    assert_eq!(plan.add_proxies.len(), 2);
    assert!(Plan::between(&desired, &desired).is_empty());
}

#[test]
fn what_changed_is_replaced_and_what_left_is_removed() {
    let before = Objects::desired(&full());
    let mut config = full();
    config.egress.as_mut().unwrap().owners.insert("203.0.113.0/24".parse().unwrap(), Encapsulation::None);
    config.ingress.as_mut().unwrap().on_link.clear();
    let plan = Plan::between(&before, &Objects::desired(&config));
    assert_eq!(plan.set_routes.len(), 1);
    assert_eq!((plan.set_routes[0].0.table, &plan.set_routes[0].1), (Table::Owners, &RouteAction::Throw));
    assert_eq!(plan.remove_routes.len(), 1);
    assert_eq!(plan.remove_proxies.len(), 2);
}

#[test]
fn what_no_data_plane_can_do_is_refused_with_the_remedy() {
    let spoil: [(&str, fn(&mut cats_datapath_core::ForwarderConfig)); 4] = [
        ("use one for each", |c| c.egress.as_mut().unwrap().sids.v6 = "fc00::4".parse().ok()),
        ("1 to 15 octets", |c| c.ingress.as_mut().unwrap().access[0].name = "a/b".to_owned()),
        ("need an access interface", |c| c.ingress.as_mut().unwrap().access.clear()),
        ("another address family", |c| {
            c.egress.as_mut().unwrap().deliveries[0].next_hop = "fe80::1".parse().ok();
        }),
    ];
    check_config(&full()).unwrap();
    for (words, spoil) in spoil {
        let mut config = full();
        spoil(&mut config);
        let error = check_config(&config).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(Objects::desired(&config()).routes, BTreeMap::new());
}

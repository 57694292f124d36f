//! Short arrivals whose choices can be worked out by hand.

use super::*;

fn server(name: &str, last: u8, weight: u32) -> ServerInput {
    ServerInput { name: name.to_owned(), addr: format!("10.0.0.{last}:80"), weight }
}

fn arrival(at_ms: u64, host: u8, for_ms: u64) -> Arrival {
    Arrival { at_ms, from: format!("10.1.0.{host}:4000"), for_ms }
}

fn input() -> PicksInput {
    PicksInput {
        schedulers: Vec::new(),
        servers: vec![server("A", 1, 1), server("B", 2, 1)],
        // A long one, a short one, then one after the short one has ended.
        arrivals: vec![arrival(0, 1, 8_000), arrival(100, 2, 50), arrival(200, 3, 50)],
        changes: Vec::new(),
        persistent_s: 0,
        sysctls: BTreeMap::new(),
        seed: 1,
    }
}

fn row<'a>(picks: &'a Picks, name: &str) -> Vec<&'a str> {
    let found = picks.schedulers.iter().find(|scheduled| scheduled.name == name).expect("the scheduler ran");
    found.picks.iter().map(|pick| pick.server.as_str()).collect()
}

/// After the short one ended, B has none active and one in TIME_WAIT; A has one active: 256 and one to a few.
#[test]
fn rr_goes_back_to_the_busy_server_and_lc_does_not() {
    let picks = run(&input()).expect("it runs");
    assert_eq!(picks.schedulers.len(), SPECS.len());
    assert_eq!(row(&picks, "rr"), ["A", "B", "A"]);
    assert_eq!(row(&picks, "lc"), ["A", "B", "B"]);
    assert_eq!(picks.digest(), run(&input()).expect("it runs").digest());
}

#[test]
fn weights_change_on_the_way_and_templates_outlive_them() {
    let mut input = input();
    input.schedulers = vec!["rr".to_owned()];
    input.arrivals.push(Arrival { at_ms: 300, from: "10.1.0.1:4001".to_owned(), for_ms: 1 });
    input.changes = vec![Change { at_ms: 150, server: "A".to_owned(), weight: 0 }];
    assert_eq!(row(&run(&input).expect("it runs"), "rr"), ["A", "B", "B", "B"]);
    input.persistent_s = 300;
    let picks = run(&input).expect("it runs");
    assert_eq!(row(&picks, "rr"), ["A", "B", "B", "A"]);
    let scores = &picks.schedulers[0].picks[2].scores;
    assert_eq!(scores[0], "weight 0: quiesced");
    // As kube-proxy sets it: a quiesced server loses its templates too.
    input.sysctls.insert("net.ipv4.vs.expire_quiescent_template".to_owned(), "1".to_owned());
    assert_eq!(row(&run(&input).expect("it runs"), "rr"), ["A", "B", "B", "B"]);
}

#[test]
fn what_cannot_run_is_said() {
    let mut unknown = input();
    unknown.schedulers = vec!["best".to_owned()];
    assert!(run(&unknown).is_err_and(|error| error.contains("there are: rr, wrr, lc")));
    let mut address = input();
    address.arrivals[0].from = "10.1.0.1".to_owned();
    assert_eq!(run(&address), Err("`10.1.0.1` is not ADDRESS:PORT".to_owned()));
    let none = PicksInput { arrivals: Vec::new(), ..input() };
    assert!(run(&none).is_err());
}

//! Whole files, good and bad.

use proptest::prelude::*;
use protocol::{Retry, Ticks};
use world::{Fault, Grain};

use super::*;

const HEAD: &str = "id = \"t\"\ntitle = \"T\"\n";

fn parse(text: &str) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse("my-lock.toml", text.as_bytes())
}

fn good(text: &str) -> Scenario {
    match parse(&format!("{HEAD}{text}")) {
        Ok(scenario) => scenario,
        Err(errors) => panic!("{errors}"),
    }
}

fn bad(text: &str) -> String {
    match parse(&format!("{HEAD}{text}")) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => errors.to_string(),
    }
}

const REDLOCK: &str = r#"
schema = 1
id = "redlock"
title = "Redlock on three nodes"
about = "Three servers, two clients. What it survives."
family = "redlock"
source = "https://redis.io/"
pair = "redlock-quorum"
witnesses = ["refused", "acquired"]

[lock]
ttl = 4
margin = 1
retry = "exponential"
retry_delay = 2

[world]
nodes = 3
latency = 1
resources = [["b", "a"], ["a"]]

[faults]
pause = 1

[expect]
mutual-exclusion = "holds"

[[row]]
title = "no fault"
faults = {}

[[row]]
title = "five nodes, a restart"
set = { nodes = 5, quorum = 2, timeout = 3 }
faults = { restart = 1 }
expect = { no-lost-update = "violated", mutual-exclusion = "violated" }
witnesses = []

[[row]]
title = "one pause"
"#;

#[test]
fn a_file_is_read() -> Result<(), ScenarioErrors> {
    let sheet = parse(REDLOCK)?;
    assert_eq!(sheet.witnesses, [Witness::Acquired, Witness::Refused]);
    assert_eq!(sheet.resource_names(), ["a", "b"]);
    let [calm, restart, pause] = sheet.expand().try_into().unwrap_or_else(|_| panic!("three rows"));
    assert_eq!((calm.title.as_str(), calm.faults.kinds().count()), ("no fault", 0));
    assert_eq!(calm.expected(Property::MutualExclusion), Some(Verdict::Holds));
    assert_eq!(pause.faults.get(Fault::Pause), 1);
    assert_eq!(restart.faults.get(Fault::Pause), 0);
    assert_eq!(restart.expected(Property::NoLostUpdate), Some(Verdict::Violated));
    assert!(restart.witnesses.is_empty());
    assert_eq!(sheet.row(1), Some(restart.clone()));
    assert_eq!(sheet.row(3), None);

    let setup = restart.resolve()?;
    assert_eq!((setup.policy.nodes, setup.policy.quorum), (5, 2));
    assert_eq!((setup.latency_least, setup.latency_greatest), (Ticks(0), Ticks(1)));
    assert_eq!(setup.policy.timeout, Ticks(3));
    assert_eq!(setup.policy.retry, Retry::Exponential(Ticks(2), Ticks(4)));
    assert_eq!(setup.jump, Ticks(4));
    assert_eq!(setup.grain, Grain::Message);
    assert_eq!(setup.resources, 2);
    let lists: Vec<Vec<u8>> = setup.clients.iter().map(|c| c.as_slice().iter().map(|r| r.0).collect()).collect();
    assert_eq!(lists, [vec![1, 0], vec![0]]);
    Ok(())
}

#[test]
fn sorted_locks_are_sorted_by_name() -> Result<(), ScenarioErrors> {
    let setup = good("lock.order = \"sorted\"\nworld.resources = [[\"b\", \"a\"]]").resolve()?;
    assert_eq!(setup.clients[0].as_slice().iter().map(|r| r.0).collect::<Vec<_>>(), [0, 1]);
    Ok(())
}

#[test]
fn an_exchange_is_one_step_only_where_nothing_can_fall_into_it() {
    assert_eq!(good("").grain(), Grain::Exchange);
    assert_eq!(good("faults.jump = 1").grain(), Grain::Exchange);
    assert_eq!(good("faults.jump = 1\nfaults.evict = 1").grain(), Grain::Exchange);
    assert_eq!(good("faults.drift = 1").grain(), Grain::Message);
    assert_eq!(good("faults.pause = 1").grain(), Grain::Message);
    assert_eq!(good("world.latency = 1").grain(), Grain::Message);
    assert_eq!(good("world.grain = \"message\"").grain(), Grain::Message);
}

#[test]
fn a_file_is_written() -> Result<(), ScenarioErrors> {
    let sheet = parse(REDLOCK)?;
    insta::assert_snapshot!(sheet.to_toml(), @r#"
    schema = 1
    id = "redlock"
    title = "Redlock on three nodes"
    about = "Three servers, two clients. What it survives."
    family = "redlock"
    source = "https://redis.io/"
    pair = "redlock-quorum"
    witnesses = ["acquired", "refused"]

    [lock]
    ttl = 4
    margin = 1
    retry = "exponential"
    retry_delay = 2

    [world]
    nodes = 3
    resources = [["b", "a"], ["a"]]
    latency = [0, 1]

    [faults]
    pause = 1

    [expect]
    mutual-exclusion = "holds"

    [[row]]
    title = "no fault"
    faults = {}

    [[row]]
    title = "five nodes, a restart"
    set = { quorum = 2, timeout = 3, nodes = 5 }
    faults = { restart = 1 }
    expect = { mutual-exclusion = "violated", no-lost-update = "violated" }
    witnesses = []

    [[row]]
    title = "one pause"
    "#);
    assert_eq!(parse(&sheet.to_toml())?, sheet);
    insta::assert_snapshot!(good("lock.ttl = 5\nfaults.jump = 1").canonical(), @r#"
    schema = 1

    [lock]
    ttl = 5
    timeout = 1
    retry_delay_max = 2

    [world]
    clients = 2
    resources = [["lock"], ["lock"]]
    jump = 5

    [faults]
    jump = 1
    "#);
    Ok(())
}

#[test]
fn the_hash_is_of_what_a_run_depends_on() {
    let hash = |text: &str| good(text).hash();
    insta::assert_snapshot!(good("").hash_text(), @"77d080e0348497e3");
    assert_eq!(hash(""), hash("about = \"x\"\nexpect.no-orphan = \"holds\"\nlock.ttl = 3\nlock.timeout = 1"));
    assert_ne!(hash(""), hash("lock.ttl = 4"));
    assert_ne!(hash(""), hash("faults.pause = 1"));
    assert_ne!(hash(""), hash("[[row]]\ntitle = \"a\""));
    assert_ne!(hash("world.clients = 3"), hash("world.clients = 4"));
    assert_eq!(hash("world.clients = 3"), hash("world.resources = [[\"lock\"], [\"lock\"], [\"lock\"]]"));
}

#[test]
fn differences_are_of_what_is_said() {
    let keys = |a: &str, b: &str| {
        good(a)
            .differences(&good(b))
            .into_iter()
            .map(|d| format!("{} {} {}", d.key, d.left, d.right))
            .collect::<Vec<_>>()
    };
    assert_eq!(keys("world.latency = 1", "world.latency = 2"), ["world.latency [0, 1] [0, 2]"]);
    assert_eq!(keys("", "lock.timeout = 1\nlock.ttl = 3").len(), 0);
    assert_eq!(
        keys("faults.pause = 2", "lock.release = \"del\""),
        ["lock.release \"compare-and-delete\" \"del\"", "faults.pause 2 0"]
    );
    let row = "[[row]]\ntitle = \"a\"\nset = { ttl = 4 }\n";
    assert_eq!(keys(row, &row.replace("\"a\"", "\"b\"")).len(), 0, "a title is no difference");
    assert_eq!(keys(row, &row.replace('4', "5")), ["row 1 \"a\" \"a\""]);
    assert_eq!(keys(row, ""), ["row 1 \"a\" none"]);
}

#[test]
fn knobs_are_described() {
    let described = good("lock.ttl = \"none\"\nlock.acquire = \"setnx\"").describe();
    let of = |key| described.iter().find(|d| d.knob.key == key).unwrap_or_else(|| panic!("{key}"));
    assert_eq!((of("ttl").value.as_str(), of("ttl").meaning), ("\"none\"", Some("It never ends.")));
    assert!(!of("ttl").is_default);
    assert!(of("timeout").is_default);
    assert_eq!(of("jump").value, "1");
}

#[test]
fn the_command_line_turns_knobs_in_all_rows() -> Result<(), ScenarioErrors> {
    let mut sheet = parse(REDLOCK)?;
    sheet.set("ttl=7")?;
    sheet.set("lock.retry-delay = 3")?;
    sheet.set("latency=1,2")?;
    sheet.set("resources=[\"k\"],[\"k\"]")?;
    sheet.set("nodes=7")?;
    assert!(sheet.is_overridden());
    for row in sheet.expand() {
        let setup = row.resolve()?;
        assert_eq!(setup.policy.ttl, Some(Ticks(7)));
        assert_eq!(setup.policy.retry, Retry::Exponential(Ticks(3), Ticks(6)));
        assert_eq!((setup.latency_least, setup.latency_greatest, setup.resources), (Ticks(1), Ticks(2), 1));
        assert_eq!(setup.policy.nodes, 7);
    }
    sheet.set_faults("drop_reply=2, pause")?;
    assert_eq!(sheet.expand().len(), 1);
    assert_eq!(sheet.faults.kinds().collect::<Vec<_>>(), [Fault::Pause, Fault::DropReply]);
    assert_eq!(sheet.faults.get(Fault::DropReply), 2);
    sheet.set_faults("none")?;
    assert_eq!(sheet.faults.kinds().count(), 0);
    Ok(())
}

#[test]
fn the_command_line_can_be_wrong() {
    let said = |set: &[&str], faults: Option<&str>| {
        let mut scenario = good("world.nodes = 3");
        let set = set.iter().try_for_each(|s| scenario.set(s));
        let all = set.and_then(|()| faults.map_or(Ok(()), |f| scenario.set_faults(f)));
        all.and_then(|()| scenario.resolve().map(|_| ())).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let all = [
        said(&["ttl"], None),
        said(&["tll=3"], None),
        said(&["zebra=3"], None),
        said(&["pause=1"], None),
        said(&["ttl=0"], None),
        said(&["ttl="], None),
        said(&["acquire=setnxpx"], None),
        said(&["work.ttl=3"], None),
        said(&["quorum=4"], None),
        said(&["acquire=unlocked"], Some("restart=1")),
        said(&[], Some("puase=1")),
        said(&[], Some("pause=9")),
        said(&[], Some("pause=1,pause=2")),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    --set: expected knob=value, found "ttl"
    --set: unknown knob tll
      help: did you mean ttl?
    --set: unknown knob zebra
      help: the knobs are acquire, owner, release, release_to, ttl, quorum, quorum_of, visit, timeout, validity, drift, drift_ticks, holder, margin, unknown, renewal, renew_every, renewals, refused_renewal, late_answer, fencing, reentrance, waiting, subscribe, fallback_poll, retry, retry_delay, retry_delay_max, attempts, give_up_after, order, conflict, unsettled_write, on_cancel, work, writes, updates, check, compare, clients, nodes, resources, latency, network, persistence, fsync_every, restart_delay, replicas, acknowledged, promote, jump, expiry, offset, longest_pause, longest_delay, longest_partition, rejoin, grain
    --set: unknown knob pause
      help: faults are set by --faults pause=1
    --set: lock.ttl: expected a number of ticks from 1 to 60 or "none", found 0
    --set: lock.ttl: expected a number of ticks from 1 to 60 or "none", found ""
    --set: lock.acquire: expected one of "unlocked", "set-nx-px", "setnx", "setnx-then-expire", "get-then-set", "getset-take-over", "get-del-setnx", found "setnxpx"
      help: did you mean "set-nx-px"?
    --set: unknown knob "work.ttl"
      help: ttl is a knob of [lock]
    --set: lock.quorum = 4, world.nodes = 3: a lock that more nodes must grant than there are can never be acquired
      help: lower quorum, or raise nodes
    --faults: faults.restart = 1, lock.acquire = "unlocked": without a lock there is no lock server to which this fault could happen
      help: leave the fault out, or set acquire to another value than "unlocked"
    --faults: unknown fault puase
      help: did you mean "pause"?
    --faults: faults.pause: expected a number of units from 0 to 8, found 9
    --faults: faults.pause: pause stands here twice
    "#);
}

#[test]
fn attempts_without_limit_are_asked_of_a_question_about_the_graph() {
    let mut scenario = good("expect.deadlock-free = \"holds\"");
    assert_eq!(scenario.undecidable(Property::DeadlockFree), None);
    scenario.set("attempts=2").unwrap();
    assert!(scenario.resolve().is_ok(), "what the file expects is no longer asked");
    assert_eq!(scenario.undecidable(Property::DeadlockFree).map(|r| r.id), Some("limited-attempts"));
    assert_eq!(scenario.undecidable(Property::MutualExclusion), None);
}

#[test]
fn values_that_code_has_put_there_are_checked_too() {
    let mut scenario = Scenario::new("t", "T");
    scenario.settings.nodes = 200;
    scenario.settings.writes = 200;
    scenario.settings.ttl = Some(Ticks(0));
    scenario.settings.resources = Some(Resources(vec![vec![]; 9]));
    let errors = scenario.resolve().err().map(|e| e.to_string()).unwrap_or_default();
    insta::assert_snapshot!(errors, @r#"
    t: lock.ttl: expected a number of ticks from 1 to 60 or "none", found 0
    t: work.writes: expected a number of writes from 1 to 3, found 200
    t: world.nodes: expected a number of nodes from 1 to 7, found 200
    t: world.resources: expected one list of 1 to 3 lock names for each of at most 4 clients, 4 different names in all, each of at most 32 letters, digits and _ - . :, found [[], [], [], [], [], [], [], [], []]
    "#);
}

/// An example of every rule.
const REFUSED: &[(&str, &str)] = &[
    ("quorum-above-nodes", "[lock]\nquorum = 4\n[world]\nnodes = 3"),
    ("lease-without-ttl", "[lock]\nacquire = \"setnx-then-expire\"\nttl = \"none\""),
    ("renewal-without-ttl", "[lock]\nacquire = \"setnx\"\nttl = \"none\"\nrenewal = \"expire\""),
    ("renewal-unlocked", "[lock]\nacquire = \"unlocked\"\nrenewal = \"expire\""),
    ("drift-eats-ttl", "[lock]\nttl = 2\ndrift_ticks = 2"),
    ("margin-eats-validity", "[lock]\nttl = 3\ndrift_ticks = 1\nmargin = 2"),
    ("retry-bounds", "[lock]\nretry = \"jitter\"\nretry_delay = 3\nretry_delay_max = 2"),
    ("limits-without-retry", "[lock]\nretry = \"none\"\nattempts = 3"),
    ("fencing-unlocked", "[lock]\nacquire = \"unlocked\"\nfencing = \"incr-before\""),
    ("fencing-many-nodes", "[lock]\nfencing = \"with-grant\"\n[world]\nnodes = 3"),
    ("counter-forgotten-twice", "[lock]\nfencing = \"with-grant\"\n[faults]\nrestart = 2"),
    (
        "counter-set-back",
        "[lock]\nfencing = \"with-grant\"\n[world]\npersistence = \"every-second\"\n[faults]\nrestart = 1",
    ),
    ("replicas-many-nodes", "[world]\nnodes = 3\nreplicas = 1"),
    ("acknowledged-above-replicas", "[world]\nreplicas = 1\nacknowledged = 2"),
    ("failover-above-replicas", "[faults]\nfailover = 1"),
    ("check-without-fencing", "[resource]\ncheck = \"on-write\""),
    ("server-fault-unlocked", "[lock]\nacquire = \"unlocked\"\n[faults]\njump = 1"),
    ("exchange-with-latency", "[world]\nlatency = 1\ngrain = \"exchange\""),
    ("exchange-with-fault", "[world]\ngrain = \"exchange\"\n[faults]\njump = 1\ncrash = 1"),
    ("clients-and-resources", "[world]\nclients = 3\nresources = [[\"x\"], [\"x\"]]"),
    (
        "exchange-with-reentrance",
        "[lock]\nowner = \"per-client\"\nreentrance = \"count\"\n[world]\ngrain = \"exchange\"",
    ),
    ("take-over-renewed", "[lock]\nacquire = \"getset-take-over\"\nrenewal = \"expire\""),
    ("take-over-never-expires", "[lock]\nacquire = \"get-del-setnx\"\nttl = \"none\""),
    ("minting-without-a-script", "[lock]\nacquire = \"get-then-set\"\nfencing = \"with-grant\""),
    ("minting-for-a-re-entry", "[lock]\nowner = \"per-client\"\nreentrance = \"flag\"\nfencing = \"with-grant\""),
    ("re-entry-not-recognised", "[lock]\nreentrance = \"flag\""),
    (
        "re-entry-of-another-acquire",
        "[lock]\nowner = \"per-client\"\nreentrance = \"flag\"\nacquire = \"get-then-set\"",
    ),
    ("re-entry-counted-by-script", "[lock]\nowner = \"per-client\"\nreentrance = \"count\"\nrelease = \"del\""),
    ("quorum-of-two-kinds", "[lock]\nquorum = 2\nquorum_of = \"reachable\"\n[world]\nnodes = 3"),
    ("assumed-and-reachable", "[lock]\nunknown = \"assume-held\"\nquorum_of = \"reachable\""),
    ("drift-of-a-time-of-day", "[lock]\nfencing = \"client-clock\"\n[faults]\ndrift = 1"),
    ("notified-unlocked", "[lock]\nacquire = \"unlocked\"\nwaiting = \"notified\""),
    ("notified-by-many-nodes", "[lock]\nwaiting = \"notified\"\n[world]\nnodes = 3"),
    ("notified-without-retry", "[lock]\nwaiting = \"notified\"\nretry = \"none\""),
    ("notified-and-released", "[lock]\nwaiting = \"notified\"\nconflict = \"release-all\""),
    ("limited-attempts", "[lock]\nattempts = 3\n[expect]\nno-orphan = \"holds\""),
    ("expected-inconclusive", "[expect]\nmutual-exclusion = \"inconclusive\""),
    ("witness-excluded", "witnesses = [\"acquired\", \"renewed\"]"),
];

#[test]
fn every_rule_refuses_its_example_and_nothing_else_does() {
    let rules: Vec<_> = RULES.iter().map(|r| r.id).collect();
    assert_eq!(rules, REFUSED.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    for (id, text) in REFUSED {
        let errors = parse(&format!("{HEAD}{text}")).err().unwrap_or_else(|| panic!("{id} is accepted"));
        let found: Vec<_> = errors
            .iter()
            .map(|e| if let Problem::Refused(rule) = &e.problem { rule.id } else { panic!("{e}") })
            .collect();
        assert_eq!(found, [*id]);
    }
    for rule in RULES {
        assert!(!rule.reason.ends_with('.') && !rule.instead.ends_with('.'), "{}", rule.id);
    }
}

#[test]
fn refusals_read_well() {
    let all: Vec<_> = REFUSED.iter().map(|(_, text)| bad(text)).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn a_refusal_points_to_the_row_that_causes_it() {
    let text = bad("world.nodes = 3\n[[row]]\ntitle = \"a\"\n[[row]]\ntitle = \"b\"\n\n[row.set]\n\nquorum = 4\n");
    insta::assert_snapshot!(text, @"
    my-lock.toml:11: lock.quorum = 4, world.nodes = 3: a lock that more nodes must grant than there are can never be acquired
      help: lower quorum, or raise nodes
    ");
}

#[test]
fn a_refusal_of_all_rows_is_told_once() {
    let text = bad("lock.quorum = 4\n[[row]]\ntitle = \"a\"\n[[row]]\ntitle = \"b\"");
    insta::assert_snapshot!(text, @"
    my-lock.toml:3: lock.quorum = 4, world.nodes = 1: a lock that more nodes must grant than there are can never be acquired
      help: lower quorum, or raise nodes
    ");
    assert!(parse(&format!("{HEAD}lock.quorum = 4\n[[row]]\ntitle = \"a\"\nset.nodes = 4")).is_ok());
}

#[test]
fn tight_but_sound_combinations_are_accepted() -> Result<(), ScenarioErrors> {
    for text in [
        "[lock]\nttl = 1\n[world]\nlatency = [1, 1]",
        "[lock]\nacquire = \"setnx\"\nttl = \"none\"",
        "[lock]\nacquire = \"setnx\"\nttl = 3",
        "[lock]\nacquire = \"unlocked\"\nretry = \"none\"\n[expect]\nno-lost-update = \"violated\"",
        "[world]\nrejoin = true",
        "[world]\nnodes = 4\n[lock]\nquorum = 2",
        "[world]\nresources = [[\"x\", \"x\"]]",
        "[lock]\nvalidity = \"unchecked\"\nmargin = 9",
        "[lock]\nlate_answer = \"revives\"",
    ] {
        good(text).resolve()?;
    }
    Ok(())
}

#[test]
fn bad_files_are_told_what_is_wrong() {
    let mut all = vec![
        parse("").err().map(|e| e.to_string()).unwrap_or_default(),
        parse("id = \"A b\"\ntitle = \"\\u001b[31m\"").err().map(|e| e.to_string()).unwrap_or_default(),
    ];
    all.extend(
        [
            "[lock\nttl = 3",
            "lock.ttl = 3\nlock.ttl = 4",
            "ttl = ",
            "schema = 2",
            "colour = 1",
            "ttl = 3",
            "[lokc]\nttl = 3",
            "lock = 3",
            "[lock]\ntll = 3",
            "[lock]\nnodes = 3",
            "[lock]\nretry-delay = 3",
            "[lock]\nzebra = 3",
            "[lock]\nttl = 0",
            "[lock]\nttl = -1",
            "[lock]\nttl = \"3\"",
            "[lock]\nttl = \"non\"",
            "[lock]\nttl = 1.5",
            "[lock]\nttl = 99999999999999999999999999999999999999999999",
            "[lock]\nttl = [3]",
            "[lock]\nacquire = \"setnxpx\"",
            "[lock]\nacquire = \"zookeeper\"",
            "[lock]\nacquire = 2024-01-01",
            "[lock]\nquorum = 0",
            "[lock]\nretry_delay = 0",
            "[work]\nupdates = 1000000",
            "[world]\nclients = 5\nnodes = 8",
            "[world]\nlatency = [2, 1]",
            "[world]\nlatency = 30",
            "[world]\nrejoin = \"true\"",
            "[world]\nresources = [\"x\"]",
            "[world]\nresources = [[\"a\", \"b\", \"c\", \"d\"]]",
            "[world]\nresources = [[\"a\", \"b\", \"c\"], [\"d\", \"e\"]]",
            "[world]\njump = 0",
            "[faults]\npause = 1000000",
            "[faults]\npause = \"all\"",
            "[faults]\ndrop_reply = 1",
            "[faults]\nearthquake = 1",
            "[expect]\nmutual_exclusion = \"holds\"",
            "[expect]\nfairness = \"holds\"",
            "[expect]\nno-orphan = \"hold\"",
            "witnesses = \"refused\"",
            "witnesses = [\"refused\", \"refused\"]",
            "witnesses = [\"refusal\", 3]",
            "row = 3",
            "row = [3]",
            "[[row]]\nset = { ttl = 0 }",
            "[[row]]\ntitle = \"a\"\nttl = 4",
            "[[row]]\ntitle = \"a\"\nset = { tll = 4 }\nexpects = {}",
            "[[row]]\ntitle = \"a\"\n[[row]]\ntitle = \"a\"",
        ]
        .map(bad),
    );
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn bytes_that_are_no_text_and_files_that_are_too_large() {
    let mut bytes = b"id = \"t\"\n\n# \xff".to_vec();
    let not_utf8 = Scenario::parse("my-lock.toml", &bytes).err().map(|e| e.to_string()).unwrap_or_default();
    bytes.resize(MAX_BYTES + 1, b'#');
    let large = Scenario::parse("my-lock.toml", &bytes).err().map(|e| e.to_string()).unwrap_or_default();
    insta::assert_snapshot!([not_utf8, large].join("\n"), @"
    my-lock.toml:3: expected UTF-8 text, found bytes that are none
      help: save the file as UTF-8 text
    my-lock.toml: expected a scenario file of at most 1048576 bytes, found 1048577
    ");
}

#[test]
fn very_many_errors_are_cut_off() {
    let text: String = (0..30_000).map(|i| format!("[a{i}x]\nb = 1\n")).collect();
    let errors = bad(&text);
    assert!(errors.ends_with("and 29980 more"), "{errors}");
    let rows = "[[row]]\n".repeat(MAX_ROWS + 1);
    assert!(bad(&rows).contains("expected at most 64 rows, found 65"));
    bad(&format!("a{} = 1", ".a".repeat(50_000)));
    bad(&format!("a = {}{}", "[".repeat(50_000), "]".repeat(50_000)));
}

/// A knob with one of its values, or nearly.
fn assignment() -> impl Strategy<Value = (&'static Knob, String)> {
    let values = |knob: &'static Knob| {
        let words: Vec<String> = knob.form.words().iter().map(|w| format!("\"{}\"", w.name)).collect();
        let words = if words.is_empty() { vec!["false".to_owned(), "true".to_owned()] } else { words };
        let lists = ["[0, 0]", "[1, 2]", "[[\"x\"], [\"x\"]]", "[[\"b\", \"a\"], [\"a\"], [\"c\"]]"].map(str::to_owned);
        prop_oneof![
            4 => proptest::sample::select(words),
            3 => (0..8_i64).prop_map(|n| n.to_string()),
            1 => any::<i64>().prop_map(|n| n.to_string()),
            2 => proptest::sample::select(lists.to_vec()),
        ]
        .prop_map(move |value| (knob, value))
    };
    (0..KNOBS.len()).prop_flat_map(move |i| values(&KNOBS[i]))
}

/// A file, valid or nearly.
fn file() -> impl Strategy<Value = String> {
    let fault = (0..Fault::ALL.len(), 0..10_u8).prop_map(|(i, n)| format!("faults.{} = {n}\n", Fault::ALL[i].name()));
    let expect = (0..Property::ALL.len(), 0..Verdict::ALL.len())
        .prop_map(|(p, v)| format!("expect.{} = \"{}\"\n", Property::ALL[p].name(), Verdict::ALL[v].name()));
    let row = (proptest::collection::vec(assignment(), 0..3), any::<bool>()).prop_map(|(set, calm)| {
        let set: String = set.into_iter().map(|(k, v)| format!("set.{} = {v}\n", k.key)).collect();
        format!("{set}{}", if calm { "faults = {}\n" } else { "" })
    });
    let knobs = proptest::collection::vec(assignment(), 0..5);
    let rows = proptest::collection::vec(row, 0..3);
    (knobs, proptest::option::of(fault), proptest::option::of(expect), rows, "\\PC{0,9}").prop_map(
        |(knobs, fault, expect, rows, about)| {
            let knobs: String = knobs.into_iter().map(|(k, v)| format!("{} = {v}\n", k.path())).collect();
            let rows: String =
                rows.iter().enumerate().map(|(i, row)| format!("[[row]]\ntitle = \"{i}\"\n{row}")).collect();
            let about = toml::Value::String(about);
            format!("{HEAD}about = {about}\n{knobs}{}{}{rows}", fault.unwrap_or_default(), expect.unwrap_or_default())
        },
    )
}

proptest! {
    // A failing case is printed in its least form; it becomes a test above, not a file of seeds.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(errors) = Scenario::parse("x", &bytes) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }

    #[test]
    fn no_text_panics(text in "[a-z\\[\\]{}=\"'.,# \n0-9_-]{0,120}", set in "\\PC{0,20}") {
        let _ = parse(&text);
        let _ = Scenario::new("t", "T").set(&set);
        let _ = Scenario::new("t", "T").set_faults(&set);
    }

    #[test]
    fn a_torn_file_does_not_panic(cut in 0..REDLOCK.len(), with in "\\PC{0,3}") {
        let _ = parse(&format!("{}{with}{}", &REDLOCK[..cut], &REDLOCK[cut..]));
        let _ = parse(&REDLOCK[..cut]);
    }

    #[test]
    fn what_is_written_is_read_back(text in file()) {
        if let Ok(scenario) = parse(&text) {
            let again = parse(&scenario.to_toml());
            prop_assert_eq!(again.as_ref().map(Scenario::hash).ok(), Some(scenario.hash()));
            prop_assert_eq!(again.ok(), Some(scenario.clone()));
            for check in scenario.expand() {
                prop_assert!(check.resolve().is_ok());
                // The canonical text says all that counts.
                let canonical = parse(&format!("{HEAD}{}", check.canonical()));
                prop_assert_eq!(canonical.ok().and_then(|c| c.resolve().ok()), check.resolve().ok());
            }
        }
    }

    #[test]
    fn what_is_set_is_what_counts((knob, value) in assignment()) {
        let mut scenario = Scenario::new("t", "T");
        if scenario.set(&format!("{}={value}", knob.key)).is_ok() {
            let mut again = Scenario::new("t", "T");
            let set = again.set(&format!("{}={}", knob.key, knob.get(&scenario.settings)));
            prop_assert_eq!(set, Ok(()));
            prop_assert_eq!(again, scenario.clone());
            let _ = scenario.resolve();
        }
    }
}

#[test]
fn a_profile_says_where_the_library_says_so() {
    let head = "[profile]\nlibrary = \"a lock\"\nversion = \"1.0\"\n[profile.places]\n";
    let text =
        bad(&format!("{head}ttl = \"README\"\nzebra = \"x\"\nwork = \"x\"\n[lock]\nttl = 3\nowner = \"constant\""));
    insta::assert_snapshot!(text);
    insta::assert_snapshot!(bad("[profile]\nlibary = \"a lock\"\nbeyond = 3"));
    let scenario = good(&format!("{head}ttl = \"README\"\n[lock]\nttl = 3\n[[row]]\ntitle = \"a: b\""));
    assert_eq!(scenario.profile.as_ref().map(|p| p.library.as_str()), Some("a lock"));
    assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario, "it is written as it was read");
}

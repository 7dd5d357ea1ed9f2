use benches::small::Small;
use check::explore::{Options, Unwatched, explore};
use stateright::{Checker, Model};

#[test]
fn sizes() {
    for (c, n, t) in [(2, 3, 1), (2, 3, 2), (2, 3, 3), (2, 4, 1), (3, 3, 1), (2, 4, 2), (2, 5, 1), (3, 3, 2)] {
        let e = explore(
            &Small::new(c, n, t, 0),
            &Options { max_states: Some(30_000_000), ..Options::default() },
            &mut Unwatched,
        );
        eprintln!("{c} {n} {t}: {} {} {} {:?} {:?}", e.unique, e.generated, e.depth, e.end, e.violations[0]);
    }
}

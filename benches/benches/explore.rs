//! Whole searches, ours and stateright's, on spaces small enough to be searched again and again.

use benches::case::{Engine, Space, World, prepare};
use benches::lease::Size;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

fn searches(c: &mut Criterion, title: &str, space: &Space, engines: &[Engine]) {
    let search = |engine| prepare(space, engine).expect("it is in the catalogue");
    let mut group = c.benchmark_group(title);
    group.sample_size(10).throughput(Throughput::Elements(search(engines[0])().unique));
    for engine in engines {
        group.bench_function(BenchmarkId::from_parameter(engine), |b| {
            b.iter_batched(|| search(*engine), |search| search(), BatchSize::PerIteration);
        });
    }
    group.finish();
}

fn all(c: &mut Criterion) {
    let both = [Engine::LEVELS, Engine::Stateright];
    searches(c, "small Redlock", &Space::TINY, &[Engine::LEVELS, Engine::Stateright, Engine::Stateright030]);
    searches(c, "plain lease", &Space::Lease(Size::TINY), &both);
    searches(
        c,
        "Redlock without a fault",
        &Space::World(World::redlock("no fault")),
        &[Engine::LEVELS, Engine::GRAPH, Engine::Stateright],
    );
}

criterion_group!(benches, all);
criterion_main!(benches);

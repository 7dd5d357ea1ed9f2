//! Measures, and writes what came out into `benches/results/`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use benches::{case, child, growth, plot, ratios, report};

const USAGE: &str = "usage: lock-benches [ratios | growth | measure ENGINE SPACE…]";

fn main() -> ExitCode {
    let words: Vec<_> = env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lock-benches: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<(), Box<dyn Error>> {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            write_ratios()?;
            write_growth()
        }
        ["ratios"] => write_ratios(),
        ["growth"] => write_growth(),
        [child::MEASURE, ref what @ ..] => {
            let (engine, space) = case::parse(what).ok_or(USAGE)?;
            Ok(child::measure_here(&space, engine)?)
        }
        _ => Err(USAGE.into()),
    }
}

fn write_ratios() -> Result<(), Box<dyn Error>> {
    let groups = ratios::against_stateright()?;
    write("ratios.md", &report::ratios(&groups, &ratios::threads()?))
}

fn write_growth() -> Result<(), Box<dyn Error>> {
    let axes = growth::measure_all()?;
    write("growth.svg", &plot::draw(&axes)?)?;
    write("growth.md", &report::growth(&axes))
}

fn write(name: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), text)?;
    println!("{text}");
    Ok(())
}

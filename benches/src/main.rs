//! Measures, and writes down what came out.

use std::env;
use std::io;

use benches::case;
use benches::child;

fn main() -> io::Result<()> {
    let words: Vec<_> = env::args().skip(1).collect();
    if let Some((first, words)) = words.split_first()
        && first == child::MEASURE
    {
        let (engine, space) = case::parse(words).ok_or_else(|| io::Error::other("no such measurement"))?;
        return child::measure_here(&space, engine);
    }
    Ok(())
}

//! Numbers and times for people.

use std::time::Duration;

/// A number with a comma between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and what is counted, in the plural if there are more than one.
pub(super) fn counted(number: usize, of: &str) -> String {
    format!("{} {of}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// A time, in at most six columns up to a day.
pub(super) fn time(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..100_000 => format!("{:.1} s", (milliseconds / 100) as f64 / 10.0),
        100_000..6_000_000 => format!("{} min", milliseconds / 60_000),
        _ => format!("{} h", milliseconds / 3_600_000),
    }
}

/// A number of bytes.
pub(super) fn memory(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        unit = larger;
    }
    format!("{amount:.0} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!([0, 999, 1000, 12_345_678].map(grouped), ["0", "999", "1,000", "12,345,678"]);
        assert_eq!((counted(1, "step"), counted(1200, "step")), ("1 step".into(), "1,200 steps".into()));
        let times = [3, 999, 1000, 99_999, 120_000, 7_200_000].map(|ms| time(Duration::from_millis(ms)));
        assert_eq!(times, ["3 ms", "999 ms", "1.0 s", "99.9 s", "2 min", "2 h"]);
        assert_eq!([0, 10 << 10, 5 << 20, 3 << 30].map(memory), ["0 KiB", "10 KiB", "5 MiB", "3 GiB"]);
    }
}

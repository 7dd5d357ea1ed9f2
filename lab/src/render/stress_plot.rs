//! A run under stress, drawn: how many updates were made when, and what fell into them.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::commands::stress::Findings;
use crate::stress::{Moment, STEP};

/// What is marked: its name, its colour, how often it happened, and at which height it stands.
type Mark = (&'static str, RGBColor, fn(&Moment) -> u64, f64);
type Drawn = Result<(), Box<dyn Error>>;

const SIZE: (u32, u32) = (1000, 420);
/// Colours that everybody can tell apart, on the white that the plot brings along.
const UPDATES: RGBColor = RGBColor(0, 114, 178);
const FAULTS: RGBColor = RGBColor(230, 159, 0);
const SIGHTS: RGBColor = RGBColor(213, 94, 0);

/// The drawing.
///
/// # Errors
/// If it cannot be drawn, which is a bug.
pub(crate) fn svg(findings: &Findings) -> Result<String, String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        draw(&root, findings).map_err(|error| error.to_string())?;
    }
    Ok(svg)
}

fn draw(root: &DrawingArea<SVGBackend<'_>, Shift>, findings: &Findings) -> Drawn {
    root.fill(&WHITE)?;
    let timeline = &findings.outcome.sums.timeline;
    let step = STEP.as_secs_f64();
    let seconds = (timeline.len() as f64 * step).max(findings.outcome.elapsed.as_secs_f64()).max(step);
    let per_second = |moment: &Moment| moment.updates as f64 / step;
    let most = timeline.iter().map(per_second).fold(10.0, f64::max) * 1.15;
    let mut chart = ChartBuilder::on(root)
        .margin(16)
        .caption(format!("{}: {}", findings.check.name(), findings.check.scenario.title), ("sans-serif", 18))
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..seconds, 0.0..most)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(RGBColor(245, 245, 245))
        .x_desc("seconds")
        .y_desc("updates per second")
        .x_label_formatter(&|x| format!("{:.1}", x).trim_end_matches(".0").to_owned())
        .y_label_formatter(&|y| format!("{y:.0}"))
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 15))
        .draw()?;
    let at = |number: usize| (number as f64 + 0.5) * step;
    let line = timeline.iter().enumerate().map(|(number, moment)| (at(number), per_second(moment)));
    let drawn = chart.draw_series(LineSeries::new(line, UPDATES.stroke_width(2)))?;
    drawn.label("updates").legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], UPDATES.stroke_width(2)));
    let marks: [Mark; 2] = [
        ("fault in a held lease", FAULTS, |moment| moment.faults, 0.90),
        ("violation", SIGHTS, |moment| moment.sights, 0.95),
    ];
    for (label, colour, of, height) in marks {
        let hit = timeline.iter().enumerate().filter(|(_, moment)| of(moment) > 0);
        let dots = hit.map(|(number, _)| Circle::new((at(number), most * height), 4, colour.filled()));
        let drawn = chart.draw_series(dots)?;
        drawn.label(label).legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(220, 220, 220))
        .label_font(("sans-serif", 14))
        .draw()?;
    root.present()?;
    Ok(())
}

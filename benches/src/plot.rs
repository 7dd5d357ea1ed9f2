//! The growth of the spaces, drawn.

use std::error::Error;
use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::growth::{Axis, Point};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

const SIZE: (u32, u32) = (1240, 640);
/// Colours that everybody can tell apart, on the white that the plot brings along.
const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];

/// What is drawn in a row of panels.
struct Quantity {
    says: &'static str,
    range: Range<f64>,
    of: fn(&Point) -> f64,
}

/// Draws states and CPU time against each axis, as SVG.
///
/// # Errors
///
/// If an axis has no points.
pub fn draw(axes: &[Axis]) -> Result<String, Box<dyn Error>> {
    let states = |point: &Point| point.counts.unique as f64;
    // What took no time at all is drawn as if it had taken as much as can be measured.
    let seconds = |point: &Point| point.cpu.max(SHORTEST);
    let rows = [quantity(axes, "states", states), quantity(axes, "seconds of CPU", seconds)];
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let panels = root.split_evenly((rows.len(), axes.len()));
        for (row, panels) in rows.iter().zip(panels.chunks(axes.len())) {
            for (axis, panel) in axes.iter().zip(panels) {
                draw_panel(panel, axis, row)?;
            }
        }
        root.present()?;
    }
    Ok(svg)
}

const SHORTEST: f64 = 0.001;

/// The range is the same for all panels of a row: powers of ten around all that is drawn.
fn quantity(axes: &[Axis], says: &'static str, of: fn(&Point) -> f64) -> Quantity {
    let points = axes.iter().flat_map(|axis| &axis.lines).flat_map(|line| &line.points);
    let (least, most) = points.map(of).fold((f64::MAX, f64::MIN), |(least, most), y| (least.min(y), most.max(y)));
    Quantity { says, range: 10f64.powf(least.log10().floor())..10f64.powf(most.log10().ceil()), of }
}

fn draw_panel(panel: &Area<'_>, axis: &Axis, quantity: &Quantity) -> Drawn {
    let values = axis.lines.iter().flat_map(|line| &line.points).map(|point| point.value);
    let (least, most) = (values.clone().min().ok_or("no points")?, values.clone().max().ok_or("no points")?);
    let across = f64::from(least) - 0.2..f64::from(most) + 0.2;
    let mut chart = ChartBuilder::on(panel)
        .margin(12)
        .x_label_area_size(38)
        .y_label_area_size(58)
        .build_cartesian_2d(across, quantity.range.clone().log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(RGBColor(240, 240, 240))
        .x_labels((most - least + 1) as usize)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| short(*y))
        .x_desc(axis.name)
        .y_desc(quantity.says)
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 15))
        .draw()?;
    for (line, colour) in axis.lines.iter().zip(COLOURS) {
        let points = || line.points.iter().map(|point| (f64::from(point.value), (quantity.of)(point)));
        let drawn = chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
        if axis.lines.len() > 1 {
            drawn
                .label(line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        }
        chart.draw_series(points().map(|at| Circle::new(at, 3, colour.filled())))?;
    }
    if axis.lines.len() > 1 {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.filled())
            .border_style(RGBColor(200, 200, 200))
            .label_font(("sans-serif", 14))
            .draw()?;
    }
    Ok(())
}

/// A power of ten in a few characters.
fn short(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{}M", value / 1e6),
        value if value >= 1e3 => format!("{}k", value / 1e3),
        value => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Counts;
    use crate::growth::Line;

    fn axis(values: &[u32]) -> Axis {
        let point = |value: &u32| {
            let counts = Counts { unique: 10u64.pow(*value), generated: 0, depth: 0 };
            Point { value: *value, counts, cpu: f64::from(*value), bytes: 0 }
        };
        let line = |name| Line { name, points: values.iter().map(point).collect() };
        Axis { name: "nodes", base: "", lines: vec![line("pause"), line("crash")] }
    }

    #[test]
    fn the_same_numbers_give_the_same_bytes() {
        let (first, second) = (draw(&[axis(&[1, 2, 3])]).unwrap(), draw(&[axis(&[1, 2, 3])]).unwrap());
        assert_eq!(first, second);
        assert_ne!(first, draw(&[axis(&[1, 2, 4])]).unwrap());
        for word in ["nodes", "states", "seconds of CPU", "pause", "crash"] {
            assert!(first.contains(word), "there is no \"{word}\"");
        }
    }

    #[test]
    fn nothing_cannot_be_drawn() {
        assert!(draw(&[axis(&[])]).is_err());
    }
}

//! `lmc laws`.

use super::failure::Failure;
use crate::derive::passes::laws;
use crate::derive::schedule::Strategies;
use lm::law;
use lm::strategy::VARIANTS;
use std::io::Write;

/// Options of `lmc laws`.
#[derive(clap::Args)]
pub struct LawsOptions {
    /// List only the law with this name.
    name: Option<String>,
    /// Print the strategies: which laws each stage applies, and how. With a name: that one with what it needs, or a file
    /// that comes with lmc. What is printed serves as a file for `--strategy`.
    #[arg(long, value_name = "STRATEGY", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["name", "figure"])]
    schedule: Option<String>,
    /// List only the laws from this source, such as "Fig. 4" or `4`.
    #[arg(long)]
    figure: Option<String>,
}

/// Lists laws or schedules.
pub fn laws(options: &LawsOptions, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(name) = &options.schedule {
        return schedules(name, out);
    }
    let chosen: Vec<Row> = rows().filter(|row| row.is_chosen(options)).collect();
    if chosen.is_empty() {
        return Err(Failure::Wrong("there is no law of that name or source; `lmc laws` lists them all".into()));
    }
    let width = |f: fn(&Row) -> &str| chosen.iter().map(|row| f(row).chars().count()).max().unwrap_or(0);
    let (names, sources) = (width(|r| r.name), width(|r| r.source));
    for Row { name, source, text } in chosen {
        writeln!(out, "{name:<names$}  {source:<sources$}  {text}")?;
    }
    Ok(())
}

/// A law of any table, in the form of the list.
struct Row {
    name: &'static str,
    source: &'static str,
    text: String,
}

/// Returns the laws that the engine matches, then the laws that passes apply.
fn rows() -> impl Iterator<Item = Row> {
    let matched = law::all().values().map(|law| {
        let copied = law.copied_maps();
        let condition =
            if copied.is_empty() { String::new() } else { format!("   when {} is free to copy", copied.join(", ")) };
        Row { name: &law.name, source: &law.source, text: format!("{}{condition}", law.text) }
    });
    matched.chain(laws::all().map(|law| Row { name: law.name, source: law.source, text: law.text.into() }))
}

impl Row {
    fn is_chosen(&self, options: &LawsOptions) -> bool {
        let named = options.name.as_ref().is_none_or(|name| self.name == name);
        let figure = options.figure.as_ref().map(|f| f.trim_start_matches("Fig.").trim());
        named && figure.is_none_or(|f| self.source == f || self.has_figure(f))
    }

    /// Returns whether the law is from a figure, by its number, or from several with that one among them.
    fn has_figure(&self, number: &str) -> bool {
        // Parts of a figure have letters, figures of other papers than the notes the name of their conference.
        let single = self.source.strip_prefix("Fig. ").and_then(|source| source.split(' ').next());
        if single.is_some_and(|figure| figure == number || figure.trim_end_matches(char::is_alphabetic) == number) {
            return true;
        }
        let range = self.source.strip_prefix("Figs. ").and_then(|range| range.split_once('-'));
        let bounds = range.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        let number: Option<u32> = number.parse().ok();
        matches!((bounds, number), (Some((first, last)), Some(number)) if (first..=last).contains(&number))
    }
}

/// Prints the definitions of strategies; of one with a name, or of all if the name is empty.
fn schedules(name: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let strategies = Strategies::default();
    let name = Some(name).filter(|name| !name.is_empty());
    if let Some((_, text)) = VARIANTS.iter().find(|(variant, _)| Some(*variant) == name) {
        write!(out, "{text}")?;
        return Ok(());
    }
    if let Some(name) = name
        && strategies.get(name).is_none()
    {
        let variants = VARIANTS.iter().map(|(variant, _)| *variant);
        let known = strategies.strategies().map(|named| &*named.name).chain(variants);
        let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
        return Err(Failure::Wrong(format!("there is no strategy `{name}`; there are {}", known.join(", "))));
    }
    write!(out, "{}", strategies.text(name))?;
    Ok(())
}

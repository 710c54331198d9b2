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
    let mut chosen: Vec<Row> = rows().filter(|row| row.is_chosen(options)).collect();
    if let Some(figure) = &options.figure {
        // By the parts of the figure; each law with the one source that was asked for.
        chosen
            .iter_mut()
            .for_each(|row| row.source = row.of_figure(figure.trim_start_matches("Fig.").trim()).unwrap_or(row.source));
        chosen.sort_by_key(|row| row.source);
    }
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

/// Returns the laws that the engine matches, the laws that passes apply, and the rules of whole arrays.
fn rows() -> impl Iterator<Item = Row> {
    let matched = law::all().values().map(|law| {
        let copied = if law.is_of_arrays() { Vec::new() } else { law.copied_maps() };
        let condition =
            if copied.is_empty() { String::new() } else { format!("   when {} is free to copy", copied.join(", ")) };
        Row { name: &law.name, source: &law.source, text: format!("{}{condition}", law.text) }
    });
    let of_passes = laws::all().map(|law| Row { name: law.name, source: law.source, text: law.text.into() });
    let no_law = WITHOUT_LAW.iter().map(|(source, text, by)| Row { name: "-", source, text: format!("{text}   {by}") });
    let of_arrays =
        bulk::rules::RULES.iter().map(|rule| Row { name: rule.name, source: rule.source, text: rule.text.into() });
    matched.chain(of_passes).chain(of_arrays).chain(no_law)
}

/// Rules of figures that are no laws here: the source, the rule, and what does its work.
const WITHOUT_LAW: &[(&str, &str, &str)] = &[
    ("Fig. 8a1 (ICFP)", "(λx. b)(e) = let x = e in b", "the checker, for functions that are arguments"),
    ("Fig. 8a6 (ICFP)", "let x = a in let y = b in e = let y = b in let x = a in e", "passes that need another order"),
    ("Fig. 8f2 (ICFP)", "a loop of n + 1 steps = its first step, then n", "the pass `unroll` of native code"),
    (
        "004 Fig. 9",
        "B (replicate n t), B (tr t), B (reshape s t)",
        "`bulk-each`: each is a build whose element is read at an index",
    ),
    ("004 Fig. 9", "B (gather s t f)", "`bulk-index`: a gather is a build whose element is read at an index"),
    (
        "004 Fig. 10",
        "index (let x = v in t) ix, index (cond b t u) ix, index (op t u) ix",
        "`index-axis`: of an array that is made once",
    ),
    (
        "004 Fig. 10",
        "index (sumOuter t) ix, index (tr t) ix, index (reshape s t) ix, index (gather s t f) ix",
        "`index-axis`",
    ),
    (
        "004 Fig. 10",
        "index t [] = t, index (index t ix) jx = index t (ix, jx)",
        "the walk: an element has all indices at once",
    ),
    (
        "004 Fig. 17",
        "eval c Zero, Input, Add, Scale, Share",
        "transposes of lmZero, lmGet, lmAdd, lmScale, and `let` (Fig. 5)",
    ),
    ("004 Fig. 17", "eval c (Index d i) = eval (oneHot i c) d", "the transpose of `lmIndex` (Fig. 5): `$delta_at`"),
    (
        "004 Fig. 17",
        "eval c (SumOuter d) = eval (replicate n c) d, and the other way round",
        "transposes of `lmHCatV` and `lmVCatV` (Fig. 5)",
    ),
    (
        "004 Fig. 17",
        "eval c (Gather d f) = eval (scatter c f) d, and the other way round",
        "transposes of `lmHCatV` of `lmIndex`",
    ),
    ("004 Fig. 17", "eval c (LitArray d ..), (Transpose d), (Reshape d)", "the same: loops of maps that read elements"),
];

impl Row {
    fn is_chosen(&self, options: &LawsOptions) -> bool {
        let named = options.name.as_ref().is_none_or(|name| self.name == name);
        let figure = options.figure.as_ref().map(|f| f.trim_start_matches("Fig.").trim());
        named && figure.is_none_or(|f| self.source == f || self.of_figure(f).is_some() || self.is_of_paper(f))
    }

    /// Returns whether the source is one of another paper than the notes, or a figure of it: `004`, `004 Fig. 9`.
    fn is_of_paper(&self, asked: &str) -> bool {
        asked.starts_with(|c: char| c.is_ascii_digit())
            && self
                .source
                .split("; ")
                .any(|source| source.strip_prefix(asked).is_some_and(|rest| rest.starts_with(' ')))
    }

    /// Returns the one of its sources that is a figure, or several with that one among them.
    fn of_figure(&self, figure: &str) -> Option<&'static str> {
        self.source.split("; ").find(|source| is_of_figure(source, figure))
    }
}

/// Returns whether a source is a figure, given by its number, or by number and part: `8`, `8d`, `8d4`.
fn is_of_figure(source: &str, figure: &str) -> bool {
    // Parts of a figure have letters, figures of other papers than the notes the name of their conference.
    let single = source.strip_prefix("Fig. ").and_then(|source| source.split(' ').next());
    let is_part = |part: &str| match figure.chars().last() {
        Some(last) if last.is_ascii_digit() => part.is_empty() || part.starts_with(|c: char| c.is_alphabetic()),
        _ => true,
    };
    if single.and_then(|single| single.strip_prefix(figure)).is_some_and(is_part) {
        return true;
    }
    let range = source.strip_prefix("Figs. ").and_then(|range| range.split_once('-'));
    let bounds = range.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    let number: Option<u32> = figure.parse().ok();
    matches!((bounds, number), (Some((first, last)), Some(number)) if (first..=last).contains(&number))
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
